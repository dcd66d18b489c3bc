"""torch.compile(fullgraph=True), with the backends eager and aot_eager: the answer is that of eager code."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

DEVICE = torch.device("cuda:0")
NAME = "cuda"
BACKENDS = ("eager", "aot_eager")


def _compiled(function: Any, *arguments: Any, backends: tuple[str, ...] = BACKENDS) -> Any:
    """What the compiled function answers by every backend, which must be what the eager one does."""
    arguments = arguments or (torch.arange(3.0, device="cuda"),)
    eager = function(*arguments)
    for backend in backends:
        torch._dynamo.reset()
        found = torch.compile(function, backend=backend, fullgraph=True)(*arguments)
        assert _plain(found) == _plain(eager), (backend, found, eager)
    return _plain(eager)


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return [str(value.device), str(value.dtype), value.detach().cpu().tolist()]
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return value


def factories() -> Any:
    """`torch.ones(device="cuda")` and other factories"""

    def function(x: Tensor) -> Tensor:
        made = torch.ones(3, device="cuda") + torch.arange(3, device="cuda:0") + torch.full((3,), 2.0, device=DEVICE)
        return x + made + torch.tensor([1.0, 2.0, 3.0], device="cuda") + torch.eye(3, device=NAME)[0]

    return _compiled(function)


def more_factories() -> Any:
    """`asarray`, `linspace`, `empty().fill_()`, `randperm`, window functions"""

    def function(x: Tensor) -> Any:
        zeros = torch.empty(3, device="cuda").fill_(0) + torch.hann_window(3, device="cuda") * 0
        return x + torch.linspace(0, 1, 3, device="cuda") + zeros + torch.randperm(3, device="cuda").sum()

    return _compiled(function)


def likes_and_news() -> Any:
    """`zeros_like(device=)`, `new_ones(device=)`, `new_tensor`"""

    def function(x: Tensor) -> Tensor:
        y = x.cpu()
        return x + torch.zeros_like(y, device="cuda") + y.new_ones(3, device="cuda") + x.new_full((3,), 2.0)

    return _compiled(function)


def devices() -> Any:
    """`torch.device("cuda", 0)` made inside"""

    def function(x: Tensor) -> Tensor:
        return x + torch.zeros(3, device=torch.device("cuda", 0)) + torch.ones(3, device=torch.device("cuda"))

    return _compiled(function)


def global_devices() -> Any:
    """devices and names that are globals"""

    def function(x: Tensor) -> Tensor:
        return x.to(DEVICE) + torch.ones(3, device=NAME)

    return _compiled(function)


def answered_devices() -> Any:
    """a compiled function that answers devices"""

    def function(x: Tensor) -> Any:
        return x + 1, x.device, torch.device("cuda:1"), str(x.device), x.device.index

    return [str(each) for each in _compiled(function)]


def device_arguments() -> Any:
    """devices and names as arguments, with a new graph for another one"""
    counter = torch._dynamo.testing.CompileCounter()

    def function(x: Tensor, device: Any) -> Tensor:
        return x.to(device) + torch.ones(3, device=device)

    compiled = torch.compile(function, backend=counter, fullgraph=True)
    x = torch.arange(3.0)
    found = [str(compiled(x, device).device) for device in ("cuda", torch.device("cuda:1"), "cpu", "cuda")]
    return [found, counter.frame_count]


def comparisons() -> Any:
    """`x.device == torch.device("cuda:0")`, `x.device.type == y.device.type`, `in` a list of devices"""

    def function(x: Tensor) -> Tensor:
        if x.device == torch.device("cuda:0") and x.device in [torch.device("cpu"), DEVICE]:
            x = x + 1
        return x * 2 if x.device.type == torch.device("cuda").type else x * 3

    return _compiled(function)


def types() -> Any:
    """`if x.device.type == "cuda"`, `d.type in ("cuda", "cpu")`"""

    def function(x: Tensor, d: torch.device) -> Any:
        return x + 1 if x.device.type == "cuda" else x - 1, d.type in ("cuda", "cpu"), DEVICE.type, d.type

    found = _compiled(function, torch.ones(2, device="cuda"), torch.device("cuda:1"))
    assert found[1:] == [True, "cuda", "cuda"]
    return found


def texts() -> Any:
    """`str`, `repr`, `format`, f-strings and `%` of a device"""

    def function(x: Tensor, d: torch.device) -> Any:
        texts = [str(x.device), repr(d), f"{x.device} and {d!r}", format(d), "%s" % d, "{} {}".format(d, 1)]  # noqa: UP031, UP032
        return x + 1 if str(d).startswith("cuda") and "cuda" in str(DEVICE) else x - 1, texts

    found = _compiled(function, torch.ones(2, device="cuda"), torch.device("cuda:1"))
    assert found[1][3] == "cuda:1"
    return found


def availability() -> Any:
    """`if torch.cuda.is_available()`"""

    def function(x: Tensor) -> Tensor:
        return x + 1 if torch.cuda.is_available() else x - 1

    return _compiled(function, torch.ones(2, device="cuda"))


def version() -> Any:
    """`if torch.version.cuda is not None`"""

    def function(x: Tensor) -> Tensor:
        return x + 1 if torch.version.cuda is not None else x - 1

    return _compiled(function, torch.ones(2, device="cuda"))


def dictionaries() -> Any:
    """devices as keys of a dictionary"""
    table = {torch.device("cuda:0"): 2.0, torch.device("cpu"): 3.0}

    def function(x: Tensor) -> Tensor:
        return x * table[x.device]

    return _compiled(function)


def isinstance_of_a_device() -> Any:
    """`isinstance(d, torch.device)`, `type(d) is torch.device`"""

    def function(x: Tensor) -> Tensor:
        if isinstance(x.device, torch.device) and not isinstance("cuda", torch.device):
            return x + 1
        return x

    return _compiled(function)


def to_a_device() -> Any:
    """`Tensor.to`: name, device, keyword, with dtype, other tensor"""

    def function(x: Tensor) -> Tensor:
        y = x.to("cpu").to("cuda") + x.cpu().to(torch.device("cuda:0")) + x.cpu().to(device="cuda", dtype=torch.float64)
        return y.to("cuda", torch.float32) + x.cpu().to(x)

    return _compiled(function)


def cuda() -> Any:
    """`Tensor.cuda()`, `.cuda(0)`, `.cuda("cuda:0", non_blocking=True)`"""

    def function(x: Tensor) -> Tensor:
        y = x.cpu()
        return y.cuda() + y.cuda(0) + y.cuda("cuda:0", non_blocking=True) + y.cuda(device=torch.device("cuda"))

    return _compiled(function)


def is_cuda() -> Any:
    """`if x.is_cuda`: the branch of eager code"""

    def function(x: Tensor) -> Tensor:
        return x * 2 if x.is_cuda else x * 3

    return [_compiled(function), _compiled(function, torch.ones(2))]


def is_cuda_of_a_module() -> Any:
    """`self.weight.is_cuda` of a compiled module"""

    class Model(torch.nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * (2 if self.weight.is_cuda else 3)

    model = Model(2, 2, device="cuda")
    for parameter in model.parameters():
        torch.nn.init.ones_(parameter)
    return _compiled(model, torch.ones(1, 2, device="cuda"))


def module_to() -> Any:
    """a module made and moved by `Module.to("cuda")` before, compiled after"""
    model = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(model.weight)
    torch.nn.init.zeros_(model.bias)
    return _compiled(model.to("cuda"), torch.ones(1, 2, device="cuda"))


def module_moved_after() -> Any:
    """a compiled module moved by `.cuda()` afterwards"""
    model = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.ones_(model.weight)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    first = compiled(torch.ones(1, 2))
    compiled.cuda()
    second = compiled(torch.ones(1, 2, device="cuda"))
    return _plain([first, second, compiled.to("cuda:1")(torch.ones(1, 2, device="cuda:1"))])


def module_to_inside() -> Any:
    """`Module.to("cuda")` inside of compiled code"""
    model = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.ones_(model.weight)

    def function(x: Tensor) -> Tensor:
        return model.to("cuda")(x)

    return _compiled(function, torch.ones(1, 2, device="cuda"))


def module_cuda_inside() -> Any:
    """`Module.cuda()` inside of compiled code"""
    model = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.ones_(model.weight)

    def function(x: Tensor) -> Tensor:
        return model.cuda()(x)

    return _compiled(function, torch.ones(1, 2, device="cuda"))


def autocast() -> Any:
    """`torch.autocast("cuda")` inside"""

    def function(x: Tensor) -> Any:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            inside = x.view(1, 3) @ x.view(3, 1)
            with torch.autocast(device_type="cuda", enabled=False):
                return inside, x.view(1, 3) @ x.view(3, 1)

    return _compiled(function)


def autocast_around() -> Any:
    """a compiled function called under `torch.autocast("cuda")`"""

    def function(x: Tensor) -> Tensor:
        return x.view(1, 3) @ x.view(3, 1)

    with torch.autocast("cuda", dtype=torch.bfloat16):
        return _compiled(function)


def autocast_as_decorator() -> Any:
    """`@torch.autocast("cuda")` on the compiled function"""

    @torch.autocast("cuda", dtype=torch.bfloat16)
    def function(x: Tensor) -> Tensor:
        return x.view(1, 3) @ x.view(3, 1)

    return _compiled(function)


def autocast_state() -> Any:
    """`torch.is_autocast_enabled("cuda")` and `get_autocast_dtype("cuda")` inside"""

    def function(x: Tensor) -> Any:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return x.to(torch.get_autocast_dtype("cuda")) if torch.is_autocast_enabled("cuda") else x

    return _compiled(function)


def device_contexts_around() -> Any:
    """a compiled function called in `with torch.device("cuda")`"""

    def function(x: Tensor) -> Tensor:
        return x + torch.ones(3)

    with torch.device("cuda"):
        return _compiled(function)


def default_device() -> Any:
    """`torch.set_default_device("cuda")` around compiled factories"""

    def function() -> Tensor:
        return torch.ones(2) + torch.arange(2)

    torch.set_default_device("cuda")
    try:
        torch._dynamo.reset()
        return _plain([torch.compile(function, backend=backend, fullgraph=True)() for backend in BACKENDS])
    finally:
        torch.set_default_device(None)


def current_device_contexts() -> Any:
    """`with torch.cuda.device(1)` inside"""

    def function(x: Tensor) -> Any:
        with torch.cuda.device(1):
            return x + 1, torch.ones(7, device="cuda")

    # Torch's own limits: aot_eager's graph has a device without index in it, and forgets the context; fake tensors are kept
    # by their arguments, so no other row may make seven ones.
    return _compiled(function, backends=("eager",))


def streams() -> Any:
    """`with torch.cuda.stream(s)` inside"""
    stream = torch.cuda.Stream()

    def function(x: Tensor) -> Tensor:
        with torch.cuda.stream(stream):
            y = x + 1
        return y * 2

    return _compiled(function, backends=("eager",))


def streams_made_inside() -> Any:
    """`torch.cuda.Stream()`, `wait_stream` and `current_stream()` inside"""

    def function(x: Tensor) -> Tensor:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            y = x + 1
        torch.cuda.current_stream().wait_stream(stream)
        return y * 2

    return _compiled(function, backends=("eager",))


def events() -> Any:
    """`torch.cuda.Event()`, `record` and `wait` inside"""

    def function(x: Tensor) -> Tensor:
        event = torch.cuda.Event()
        event.record()
        event.wait()
        return x + 1

    return _compiled(function, backends=("eager",))


def questions() -> Any:
    """`torch.cuda.current_device()`, `get_device_properties()` inside"""

    def function(x: Tensor) -> Any:
        x = x + torch.cuda.current_device()
        return x + torch.cuda.get_device_properties(0).multi_processor_count * 0

    return _compiled(function)


def synchronize() -> Any:
    """`torch.cuda.synchronize()` inside, without fullgraph"""

    def function(x: Tensor) -> Tensor:
        y = x + 1
        torch.cuda.synchronize()
        return y * 2

    x = torch.arange(3.0, device="cuda")
    return _plain(torch.compile(function, backend="eager")(x))


def accelerators() -> Any:
    """`torch.accelerator.current_accelerator()` inside"""

    def function(x: Tensor) -> Tensor:
        return x.cpu().to(torch.accelerator.current_accelerator())

    return _compiled(function)


def generators() -> Any:
    """`torch.manual_seed` before compiled random numbers"""

    def function(x: Tensor) -> Tensor:
        return x + torch.rand(3, device="cuda") + torch.nn.functional.dropout(x)

    torch.manual_seed(5)
    first = torch.compile(function, backend="eager", fullgraph=True)(torch.ones(3, device="cuda"))
    torch.manual_seed(5)
    return torch.equal(first, function(torch.ones(3, device="cuda")))


def operators() -> Any:
    """`torch.ops.aten.zeros([2], device="cuda")` inside"""

    def function(x: Tensor) -> Tensor:
        return (
            x + torch.ops.aten.ones.default([3], device=torch.device("cuda")) + torch.ops.aten.zeros([3], device="cuda")
        )

    return _compiled(function)


def gradients() -> Any:
    """gradients through compiled code with moves in it"""

    def function(x: Tensor) -> Tensor:
        return (x.cuda() * torch.arange(3.0, device="cuda")).cpu().sum()

    answers = []
    for backend in BACKENDS:
        torch._dynamo.reset()
        x = torch.ones(3, requires_grad=True)
        torch.compile(function, backend=backend, fullgraph=True)(x).backward()
        answers.append(x.grad.tolist())
    assert answers[0] == answers[1] == [0, 1, 2]
    return answers


def autograd_functions() -> Any:
    """a `torch.autograd.Function` that makes tensors on the device"""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * torch.full((1,), 2.0, device="cuda")

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient * torch.full((1,), 2.0, device="cuda")

    x = torch.ones(3, device="cuda", requires_grad=True)
    torch.compile(lambda x: Double.apply(x).sum(), backend="aot_eager", fullgraph=True)(x).backward()
    return _plain(x.grad)


def checkpoints() -> Any:
    """`torch.utils.checkpoint` inside"""
    from torch.utils.checkpoint import checkpoint

    def function(x: Tensor) -> Tensor:
        return checkpoint(lambda x: (x * torch.ones(3, device="cuda")).sin(), x, use_reentrant=False).sum()

    x = torch.zeros(3, device="cuda", requires_grad=True)
    torch.compile(function, backend="aot_eager", fullgraph=True)(x).backward()
    return _plain(x.grad)


def vmaps() -> Any:
    """`torch.vmap` and `torch.func.grad` inside"""

    def function(x: Tensor) -> Tensor:
        scaled = torch.vmap(lambda row: row * torch.ones(1, device="cuda"))(x)
        return torch.func.grad(lambda x: (x * torch.arange(3.0, device="cuda")).sum())(scaled)

    return _compiled(function)


def dynamic_shapes() -> Any:
    """factories of dynamic size"""

    def function(x: Tensor) -> Tensor:
        return x + torch.ones(x.shape[0], device="cuda") + torch.arange(x.size(0), device=x.device)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=True)
    return [_plain(compiled(torch.ones(n, device="cuda"))) for n in (3, 5)]


def optimizers() -> Any:
    """a compiled optimizer step"""
    parameter = torch.nn.Parameter(torch.ones(2, device="cuda"))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    parameter.grad = torch.ones(2, device="cuda")
    torch.compile(optimizer.step, backend="eager")()
    return _plain(parameter)


def module_compile() -> Any:
    """`Module.compile()` in place, trained for a step"""

    class Model(torch.nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * torch.ones(2, device="cuda")

    model = Model(2, 2).to("cuda")
    model.compile(backend="aot_eager")
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    return [str(p.grad.device) for p in model.parameters()]


def graphs() -> Any:
    """the graph a backend is handed: devices in it, nothing else"""
    seen: list[str] = []

    def backend(module: Any, inputs: Any) -> Any:
        seen.extend(
            str(node.kwargs.get("device", node.args[1:])) for node in module.graph.nodes if node.op[:4] == "call"
        )
        return module.forward

    def function(x: Tensor) -> Tensor:
        return x.to(torch.device("cuda")) + torch.ones(3, device=torch.device("cuda:0"))

    torch.compile(function, backend=backend, fullgraph=True)(torch.ones(3))
    return seen


def graph_breaks() -> Any:
    """`torch._dynamo.explain`: a program of devices has no graph break"""

    def function(x: Tensor) -> Tensor:
        device = torch.device("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return x.cuda().to("cuda") + torch.ones(3, device=device) if x.is_cuda else x

    found = torch._dynamo.explain(function)(torch.ones(3, device="cuda"))
    assert [found.graph_count, found.graph_break_count] == [1, 0]
    return True


def legacy_types() -> Any:
    """`x.type(torch.float64)` and `torch.cuda.FloatTensor` compared inside"""

    def function(x: Tensor) -> Tensor:
        return x.type(torch.float64) if x.is_floating_point() else x

    return _compiled(function)


def disabled_code() -> Any:
    """`torch.compiler.disable`d code that uses the device"""

    @torch.compiler.disable
    def outside(x: Tensor) -> Tensor:
        return x + torch.ones(3, device="cuda") if x.is_cuda else x

    return _plain(torch.compile(lambda x: outside(x) * 2, backend="eager")(torch.ones(3, device="cuda")))
