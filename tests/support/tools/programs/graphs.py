"""torch.fx, make_fx and torch.export."""

from __future__ import annotations

import copy
import io
from typing import Any

import torch
from torch import Tensor, fx


def _function(x: Tensor) -> Tensor:
    return x.to("cuda:0") + torch.ones(2, device=torch.device("cuda")) * torch.full((2,), 2.0, device="cuda:0")


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2, device="cuda")
        self.device = torch.device("cuda:0")
        for parameter in self.parameters():
            torch.nn.init.ones_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.to(self.device)) + torch.arange(2, device=self.device)


def _ones() -> Tensor:
    return torch.ones(1, 2, device="cuda")


def symbolic_trace() -> Any:
    """`fx.symbolic_trace` of device constants"""
    traced = fx.symbolic_trace(_function)
    return traced(torch.ones(2)).tolist()


def code() -> Any:
    """`GraphModule.code` names devices as torch writes them, and functions of torch"""
    text = fx.symbolic_trace(lambda x: torch.ones(x.shape[0], device=torch.device("cuda:1")).to("cuda:0")).code
    scope: dict[str, Any] = {"torch": torch, "device": torch.device}
    exec(text, scope)
    assert "torch.ones(getitem, device = device(type=" in text, text
    return [str(scope["forward"](None, torch.ones(2)).device)]


def code_of_arguments() -> Any:
    """functions that depend on the input stay calls of torch's own functions"""
    traced = fx.symbolic_trace(lambda x: torch.zeros(x.shape[0], device=torch.device("cuda")) + torch.zeros_like(x))
    targets = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    return [traced.code, torch.zeros_like in targets]


def questions() -> Any:
    """type and text of a device in a traced function, which ask when the graph runs; availability and version"""

    def function(x: Tensor) -> Any:
        y = x + 1 if torch.cuda.is_available() and torch.version.cuda is not None else x - 1
        return y, x.device.type, str(torch.device("cuda", 1))

    found = fx.symbolic_trace(function)(torch.ones(2, device="cuda"))
    assert list(found[1:]) == ["cuda", "cuda:1"]
    return [found[0].tolist(), *found[1:]]


def methods() -> Any:
    """`x.cuda()` and `x.to("cuda")` in a traced function are calls of methods"""
    traced = fx.symbolic_trace(lambda x: x.cuda().to("cuda:0"))
    assert [node.target for node in traced.graph.nodes] == ["x", "cuda", "to", "output"]
    return str(traced(torch.ones(2)).device)


def modules() -> Any:
    """`fx.symbolic_trace` of a module with a device for an attribute"""
    traced = fx.symbolic_trace(_Model())
    return [traced.code, traced(torch.ones(1, 2)).tolist(), str(traced.linear.weight.device)]


def module_moves() -> Any:
    """`GraphModule.to("cuda")`, `.cuda()`, deepcopy"""
    traced = fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    answers = [
        str(traced.cuda().get_parameter("0.weight").device),
        str(traced.to("cuda:1").get_parameter("0.bias").device),
    ]
    return [*answers, str(copy.deepcopy(traced).get_parameter("0.weight").device)]


def interpreters() -> Any:
    """`fx.Interpreter`, `fx.Transformer` and `ShapeProp` over a graph of devices"""
    from torch.fx.passes.shape_prop import ShapeProp

    traced = fx.symbolic_trace(_function)
    ShapeProp(traced).propagate(torch.ones(2))
    output = next(reversed(traced.graph.nodes))
    values = fx.Interpreter(traced).run(torch.ones(2)), fx.Transformer(traced).transform()(torch.ones(2))
    return [[value.tolist() for value in values], output.meta["tensor_meta"].shape]


def wrapped() -> Any:
    """a tracer for which functions that make tensors are leaves"""

    class Tracer(fx.Tracer):
        def is_leaf_module(self, module: Any, name: str) -> bool:
            return True

    graph = Tracer().trace(_Model())
    return [node.op for node in graph.nodes]


def graphs_by_hand() -> Any:
    """a graph built by hand that calls `torch.ones` with a device"""
    graph = fx.Graph()
    x = graph.placeholder("x")
    ones = graph.call_function(torch.ones, (2,), {"device": torch.device("cuda:0")})
    names = graph.call_function(torch.zeros, (2,), {"device": "cuda"})
    graph.output(graph.call_function(torch.add, (graph.call_function(torch.add, (x, ones)), names)))
    graph.lint()
    module = fx.GraphModule(torch.nn.Module(), graph)
    return [module.code.count("torch.ones"), module(torch.ones(2, device="cuda")).tolist()]


def replaced_patterns() -> Any:
    """`fx.replace_pattern` on graphs with devices"""
    traced = fx.symbolic_trace(lambda x: torch.relu(x.cuda()))
    fx.replace_pattern(traced, lambda x: torch.relu(x), lambda x: torch.sigmoid(x))
    return [traced(torch.zeros(1)).tolist(), str(traced(torch.zeros(1)).device)]


def make_fx() -> Any:
    """`make_fx`: factories, `.to`, `.cuda()`, with real, fake and symbolic tensors"""
    from torch.fx.experimental.proxy_tensor import make_fx

    answers = []
    for mode in ("real", "fake", "symbolic"):
        traced = make_fx(lambda x: _function(x.cpu().cuda()), tracing_mode=mode)(torch.ones(2, device="cuda"))
        answers += [traced.code, traced(torch.ones(2, device="cuda")).tolist()]
    return answers


def _asked(x: Tensor) -> Tensor:
    is_cuda = x.device.type == "cuda" and str(x.device) == "cuda:0"
    return x + 1 if is_cuda and torch.cuda.is_available() and torch.version.cuda is not None else x - 1


def make_fx_questions() -> Any:
    """`make_fx` of questions for type, text, availability and version, with real, fake and symbolic tensors"""
    from torch.fx.experimental.proxy_tensor import make_fx

    x = torch.ones(2, device="cuda")
    return [make_fx(_asked, tracing_mode=mode)(x)(x).tolist() for mode in ("real", "fake", "symbolic")]


def functionalized() -> Any:
    """`torch.func.functionalize` under `make_fx`"""
    from torch.fx.experimental.proxy_tensor import make_fx

    def function(x: Tensor) -> Tensor:
        y = torch.zeros(2, device="cuda")
        y.add_(x)
        return y

    return make_fx(torch.func.functionalize(function))(torch.ones(2, device="cuda")).code


def _exported(*arguments: Any, **options: Any) -> Any:
    return torch.export.export(_Model(), arguments or (_ones(),), **options)


def exported() -> Any:
    """`torch.export.export` of a module with devices, and its `module()`"""
    program = _exported()
    devices = [node.kwargs["device"] for node in program.graph.nodes if "device" in node.kwargs]
    return [devices, program.module()(_ones()).tolist(), {str(t.device) for t in program.state_dict.values()}]


def exported_strictly() -> Any:
    """... with `strict=True`"""
    return _exported(strict=True).module()(_ones()).tolist()


def exported_from_the_cpu() -> Any:
    """... of a module that moves its input to the device"""
    return str(_exported(torch.ones(1, 2)).module()(torch.ones(1, 2)).device)


def exported_with_dynamic_shapes() -> Any:
    """... with dynamic shapes"""

    class Model(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + torch.ones(x.shape[0], 1, device="cuda")

    batch = torch.export.Dim("batch")
    program = torch.export.export(Model(), (torch.ones(3, 2, device="cuda"),), dynamic_shapes={"x": {0: batch}})
    return program.module()(torch.ones(5, 2, device="cuda")).shape


def export_saved() -> Any:
    """`torch.export.save` and `load`"""
    buffer = io.BytesIO()
    torch.export.save(_exported(), buffer)
    buffer.seek(0)
    program = torch.export.load(buffer)
    return [program.module()(_ones()).tolist(), {str(t.device) for t in program.state_dict.values()}]


def export_decomposed() -> Any:
    """`run_decompositions()`"""
    return _exported().run_decompositions().module()(_ones()).tolist()


def export_moved() -> Any:
    """`move_to_device_pass(program, "cuda:1")`"""
    from torch.export.passes import move_to_device_pass

    program = move_to_device_pass(_exported(), "cuda:1")
    return str(program.module()(torch.ones(1, 2, device="cuda:1")).device)


def export_moved_by_table() -> Any:
    """`move_to_device_pass(program, {"cuda:0": "cuda:1"})`"""
    from torch.export.passes import move_to_device_pass

    program = move_to_device_pass(_exported(), {"cuda:0": "cuda:1"})
    return str(program.module()(torch.ones(1, 2, device="cuda:1")).device)


def export_is_cuda() -> Any:
    """`if x.is_cuda` in an exported module"""

    class Model(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2 if x.is_cuda else x * 3

    return [torch.export.export(Model(), (_ones(),), strict=strict).module()(_ones()).tolist() for strict in (0, 1)]


def export_questions() -> Any:
    """questions for type, text, availability and version in an exported module, strictly and not"""

    class Model(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return _asked(x)

    found = [torch.export.export(Model(), (_ones(),), strict=strict).module()(_ones()).tolist() for strict in (0, 1)]
    assert found == [[[2.0, 2.0]], [[2.0, 2.0]]]
    return found


def export_autocast() -> Any:
    """`torch.autocast("cuda")` in an exported module"""

    class Model(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return x @ x.t()

    return str(torch.export.export(Model(), (_ones(),)).module()(_ones()).dtype)


def export_unflattened() -> Any:
    """`torch.export.unflatten`"""
    model = torch.nn.Sequential(_Model(), torch.nn.ReLU())
    return torch.export.unflatten(torch.export.export(model, (_ones(),)))(_ones()).tolist()


def export_to_meta_and_back() -> Any:
    """an exported program's verifier and pretty printer"""
    program = _exported()
    program.validate()
    return "device(type=" in program.graph_module.print_readable(print_output=False)
