"""torch.jit: scripted, traced, saved, loaded."""

from __future__ import annotations

import io
import pathlib
import re
import tempfile
import zipfile
from typing import Any, List, NamedTuple, Optional  # noqa: UP035  (TorchScript's own words)

import torch
from torch import Tensor

DEVICE = torch.device("cuda:1")


def _device_call(x: Tensor) -> Tensor:
    return x.to(torch.device("cuda")) * 2


def _device_with_index(x: Tensor) -> Tensor:
    return x.to(torch.device("cuda", 1)) * 2


def _factory_with_device(x: Tensor) -> Tensor:
    return x + torch.zeros(2, device=torch.device("cuda:0"))


def _factory_with_name(x: Tensor) -> Tensor:
    return x + torch.zeros([2], dtype=torch.float32, device="cuda") + torch.arange(2, device="cuda:0")


def _factory_by_variable(x: Tensor) -> Tensor:
    name = "cuda:0"
    return x + torch.ones(2, device=name)


def _to_name(x: Tensor) -> Tensor:
    return x.cpu().to("cuda:1")


def _to_keyword(x: Tensor) -> Tensor:
    return x.cpu().to(device="cuda:1", dtype=torch.float64)


def _cuda(x: Tensor) -> Tensor:
    return x.cpu().cuda() + 1


def _is_cuda(x: Tensor) -> Tensor:
    return x + 1 if x.is_cuda else x - 1


def _of_a_tensor(x: Tensor) -> Tensor:
    return torch.ones(2, device=x.device) + torch.zeros_like(x) + x.new_ones([2], device="cuda:0")


def _argument(x: Tensor, device: torch.device) -> Tensor:
    return x.to(device) + torch.ones(2, device=device)


def _optional(x: Tensor, device: Optional[torch.device] = None) -> Tensor:
    if device is None:
        return x
    return x.to(device)


def _default(x: Tensor, device: torch.device = DEVICE) -> Tensor:
    return x.to(device)


def _named_default(x: Tensor, device: str = "cuda:1") -> Tensor:
    return x.to(device)


def _compared(x: Tensor) -> Tensor:
    return x + 1 if x.device == torch.device("cuda:0") else x - 1


def _message(x: Tensor) -> str:
    place = "cuda"
    return place + str(x.device.index)


def _type_compared(x: Tensor) -> Tensor:
    return x + 1 if x.device.type == "cuda" else x - 1


def _fields(x: Tensor) -> List[int]:
    device = x.device
    index = device.index
    return [len(device.type), 0 if index is None else index, len(str(device))]


def _texts_of_devices(x: Tensor, d: torch.device) -> List[str]:
    texts = [d.type, str(d), f"on {x.device}", "{} {}".format(d, 1), "%s" % d, x.cpu().device.type]  # noqa: UP031, UP032
    if d.type in ["cuda", "mps"] and str(d).startswith("cuda") and x.clone().device.type == "cuda":
        texts.append("as eager code")
    return texts


def _available(x: Tensor) -> Tensor:
    return x + 1 if torch.cuda.is_available() else x - 1


def _of_version(x: Tensor) -> Tensor:
    return x + 1 if torch.version.cuda is not None else x - 1


def _refined(device: Optional[torch.device]) -> int:
    if isinstance(device, torch.device):
        return 1
    return 0


def _listed(x: Tensor) -> List[torch.device]:
    return [x.device, torch.device("cuda:1")]


def _scripted(function: Any, *arguments: Any) -> Any:
    """The answer of the scripted function, which must be that of the eager one."""
    x = torch.arange(2.0, device="cuda")
    eager = function(x, *arguments)
    for _ in range(2):  # the second call is an optimised one
        scripted = torch.jit.script(function)(x, *arguments)
    if isinstance(eager, Tensor):
        assert scripted.device == eager.device and scripted.dtype == eager.dtype, (scripted, eager)
        assert torch.equal(scripted, eager), (scripted, eager)
        return [str(scripted.device), scripted.tolist()]
    assert scripted == eager, (scripted, eager)
    return scripted


def script_device() -> Any:
    """`torch.device("cuda")` in a scripted function"""
    return _scripted(_device_call)


def script_device_with_index() -> Any:
    """`torch.device("cuda", 1)` in a scripted function"""
    return _scripted(_device_with_index)


def script_factory_with_device() -> Any:
    """`torch.zeros(2, device=torch.device("cuda:0"))` in a scripted function"""
    return _scripted(_factory_with_device)


def script_factory_with_name() -> Any:
    """`torch.zeros(2, device="cuda")` in a scripted function"""
    return _scripted(_factory_with_name)


def script_factory_by_variable() -> Any:
    """`name = "cuda:0"; torch.ones(2, device=name)` in a scripted function"""
    return _scripted(_factory_by_variable)


def script_to_name() -> Any:
    """`x.to("cuda:1")` in a scripted function"""
    return _scripted(_to_name)


def script_to_keyword() -> Any:
    """`x.to(device="cuda:1", dtype=...)` in a scripted function"""
    return _scripted(_to_keyword)


def script_cuda() -> Any:
    """`x.cuda()` in a scripted function"""
    return _scripted(_cuda)


def script_is_cuda() -> Any:
    """`x.is_cuda` in a scripted function"""
    return _scripted(_is_cuda)


def script_device_of_a_tensor() -> Any:
    """`device=x.device`, `*_like` and `new_*` in a scripted function"""
    return _scripted(_of_a_tensor)


def script_argument() -> Any:
    """a scripted function given `torch.device("cuda:0")`"""
    return _scripted(_argument, torch.device("cuda:0"))


def script_argument_by_name() -> Any:
    """a scripted function of a device given `"cuda:0"`"""
    return _scripted(_argument, "cuda:0")


def script_optional_argument() -> Any:
    """a scripted function with `Optional[torch.device]`"""
    return [_scripted(_optional), _scripted(_optional, torch.device("cuda:1"))]


def script_default_argument() -> Any:
    """a scripted function whose default argument is a device"""
    return _scripted(_default)


def script_default_name() -> Any:
    """a scripted function whose default argument is `"cuda:1"`"""
    return _scripted(_named_default)


def script_comparison() -> Any:
    """`x.device == torch.device("cuda:0")` in a scripted function"""
    return _scripted(_compared)


def script_comparison_of_types() -> Any:
    """`x.device.type == "cuda"` in a scripted function: the answer of eager code"""
    return _scripted(_type_compared)[0]


def script_fields() -> Any:
    """`d.type`, `d.index`, `str(d)` in a scripted function"""
    return _scripted(_fields)


def script_texts() -> Any:
    """text that says cuda and is no device stays as it is in a scripted function"""
    return _scripted(_message).replace("cuda", "x")


def script_types_and_texts() -> Any:
    """`d.type`, `str`, `format`, f-strings and `%` of a device in a scripted function"""
    found = _scripted(_texts_of_devices, torch.device("cuda:1"))
    assert found[:2] == ["cuda", "cuda:1"]
    return found


def script_availability() -> Any:
    """`torch.cuda.is_available()` in a scripted function"""
    return _scripted(_available)


def script_version() -> Any:
    """`torch.version.cuda` in a scripted function"""
    return _scripted(_of_version)


def script_isinstance() -> Any:
    """`isinstance(d, torch.device)` in a scripted function"""
    scripted = torch.jit.script(_refined)
    return [scripted(torch.device("cuda")), scripted(None)]


def script_lists() -> Any:
    """a scripted function that answers devices"""
    return [str(device) for device in _scripted(_listed)]


def _doubled(x: Tensor) -> Tensor:
    return x * 2


class _Pair:
    def __init__(self, x: Tensor) -> None:
        self.x = x
        self.device = x.device

    def both(self) -> Tensor:
        return _doubled(self.x) + torch.ones(2, device=self.device)


class _Places(NamedTuple):
    x: Tensor
    device: torch.device


def script_classes() -> Any:
    """a scripted class that uses globals of its module and holds a device"""
    pair = torch.jit.script(_Pair)

    def use(x: Tensor) -> Tensor:
        return pair(x).both()

    return torch.jit.script(use)(torch.ones(2, device="cuda")).tolist()


def script_named_tuples() -> Any:
    """a scripted function that answers a named tuple with a device"""

    def place(x: Tensor) -> _Places:
        return _Places(x, x.device)

    return str(torch.jit.script(place)(torch.ones(2, device="cuda")).device)


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.device = torch.device("cuda:0")
        self.name = "cuda:0"
        with torch.no_grad():
            self.linear.weight.fill_(0.5)
            self.linear.bias.fill_(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.to(self.device)) + torch.ones(2, device=self.device)


class _ByName(_Model):
    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.to(self.name))


class _WithPython(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return self.outside(x) + 1

    @torch.jit.ignore
    def outside(self, x):  # type: ignore[no-untyped-def]
        return x.cuda() if not x.is_cuda else x + torch.ones(2, device="cuda")


class _Flagged(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.is_cuda = False

    def forward(self, x: Tensor) -> Tensor:
        return x if self.is_cuda else x + 1


class _Constant(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.ones(2, device=torch.device("cpu"))


def script_modules() -> Any:
    """a scripted module with a device for an attribute"""
    model = torch.jit.script(_Model().cuda())
    return [str(model.linear.weight.device), model(torch.ones(1, 2)).tolist()]


def script_modules_by_name() -> Any:
    """a scripted module with a device string for an attribute"""
    return torch.jit.script(_ByName().cuda())(torch.ones(1, 2)).tolist()


def script_module_moves() -> Any:
    """`scripted.cuda()`, `.to("cuda:1")`, `.to(dtype)`"""
    model = torch.jit.script(torch.nn.Linear(2, 2))
    answers = [str(model.cuda().weight.device), str(model.to("cuda:1").weight.device)]
    return [
        *answers,
        str(model.to(torch.device("cuda:0"), torch.float64).weight)[-60:-50] != "",
        str(model.weight.dtype),
    ]


def script_gradients() -> Any:
    """gradients through a scripted function"""
    x = torch.ones(2, device="cuda", requires_grad=True)
    torch.jit.script(_factory_with_device)(x).sum().backward()
    return [x.grad.tolist(), str(x.grad.device)]


def script_compile_unit() -> Any:
    """`torch.jit.CompilationUnit` of source text"""
    unit = torch.jit.CompilationUnit('def f(x):\n    return x + torch.ones([2], device="cuda:0")\n')
    return unit.f(torch.ones(2, device="cuda")).tolist()


def script_flags() -> Any:
    """a scripted module with a flag of its own that is called `is_cuda`"""
    return torch.jit.script(_Flagged())(torch.ones(2, device="cuda")).tolist()


def script_frozen() -> Any:
    """`torch.jit.freeze` and `optimize_for_inference`"""
    model = torch.jit.script(_Model().cuda().eval())
    x = torch.ones(1, 2, device="cuda")
    return [torch.jit.freeze(model)(x).tolist(), torch.jit.optimize_for_inference(model)(x).tolist()]


def trace_factories() -> Any:
    """`torch.jit.trace` of factories, `torch.device` and `.to`"""

    def function(x: Tensor) -> Tensor:
        moved = x.cpu().to("cuda:0") + torch.ones(2, device=torch.device("cuda"))
        return moved + torch.zeros(2, device="cuda")

    traced = torch.jit.trace(function, torch.ones(2, device="cuda"))
    assert traced(torch.ones(2)).device == torch.device("cuda:0")
    return [
        traced(torch.ones(2, device="cuda")).tolist(),
        re.findall(r'Device = prim::Constant.value="(.*?)"', str(traced.graph)),
    ]


def trace_cuda() -> Any:
    """`torch.jit.trace` of `x.cuda()` and `if x.is_cuda`"""
    traced = torch.jit.trace(lambda x: x.cuda() * (2 if x.is_cuda else 3), torch.ones(2, device="cuda"))
    return [traced(torch.ones(2)).tolist(), str(traced(torch.ones(2)).device)]


def trace_questions() -> Any:
    """`torch.jit.trace` of questions for type, text, availability and version"""

    def function(x: Tensor) -> Tensor:
        is_cuda = x.device.type == "cuda" and str(x.device) == "cuda:0"
        return x + 1 if is_cuda and torch.cuda.is_available() and torch.version.cuda is not None else x - 1

    return torch.jit.trace(function, torch.ones(2, device="cuda"))(torch.ones(2, device="cuda")).tolist()


def trace_modules() -> Any:
    """`torch.jit.trace_module` of a module on the device"""
    traced = torch.jit.trace_module(_Model().cuda(), {"forward": torch.ones(1, 2, device="cuda")})
    return [traced(torch.ones(1, 2)).tolist(), str(traced.linear.weight.device)]


def trace_autocast() -> Any:
    """`torch.jit.trace` inside `torch.autocast("cuda")`"""
    model = torch.nn.Linear(2, 2).cuda()
    x = torch.ones(1, 2, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
        traced = torch.jit.trace(model, x)
    return str(traced(x).dtype)


def _saved(module: Any, **edits: tuple[bytes, bytes]) -> io.BytesIO:
    """A saved module with some bytes of its records replaced, as if another machine had written it."""
    buffer, result = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(result, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            for old, new in edits.values():
                if entry.filename.endswith((".py", "data.pkl", "constants.pkl")):
                    data = data.replace(old, new)
            target.writestr(entry.filename, data)
    result.seek(0)
    return result


_LOCATION = (b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
_CODE = (b'torch.device("cpu")', b'torch.device("cuda:0")')


def load_tensors_of_cuda() -> Any:
    """`torch.jit.load` of tensors saved on CUDA, without `map_location`"""
    model = torch.jit.load(_saved(torch.nn.Linear(2, 2), location=_LOCATION))
    return [str(model.weight.device), str(model(torch.ones(1, 2, device="cuda")).device)]


def load_tensors_of_cuda_mapped() -> Any:
    """`torch.jit.load` of tensors saved on CUDA, with `map_location`"""
    answers = []
    for location in ("cpu", "cuda:1", torch.device("cuda")):
        model = torch.jit.load(_saved(torch.nn.Linear(2, 2), location=_LOCATION), map_location=location)
        answers.append(str(model.weight.device))
    return answers


def load_constants_of_cuda() -> Any:
    """`torch.jit.load` of code saved on CUDA: `torch.device("cuda:0")` in it"""
    model = torch.jit.load(_saved(_Constant(), code=_CODE))
    return [model(torch.ones(2, device="cuda")).tolist(), str(model(torch.ones(2, device="cuda")).device)]


def load_constants_of_cuda_mapped() -> Any:
    """... and with `map_location="cuda"`"""
    model = torch.jit.load(_saved(_Constant(), code=_CODE), map_location="cuda")
    return str(model(torch.ones(2, device="cuda")).device)


def save_here() -> Any:
    """`torch.jit.save` here, `torch.jit.load` here: scripted, with devices for constants"""
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(_Model().cuda()), buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)(torch.ones(1, 2)).tolist()


def save_traced_here() -> Any:
    """`torch.jit.save` and `load` of what was traced, constants included"""
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(_Model().cuda(), torch.ones(1, 2, device="cuda")), buffer)
    answers = []
    for location in (None, "cuda:0"):
        buffer.seek(0)
        answers.append(torch.jit.load(buffer, map_location=location)(torch.ones(1, 2)).tolist())
    return answers


def save_to_files() -> Any:
    """`scripted.save(path)` and `torch.jit.load(path)`, of a function too, with `_extra_files`"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.pt")
        torch.jit.save(torch.jit.script(_Model().cuda()), path, _extra_files={"note.txt": "text"})
        extra = {"note.txt": ""}
        first = torch.jit.load(path, _extra_files=extra)(torch.ones(1, 2)).tolist()
        torch.jit.script(_factory_with_device).save(str(path))
        return [first, extra["note.txt"], torch.jit.load(str(path))(torch.ones(2, device="cuda")).tolist()]


def copies() -> Any:
    """copies of a scripted module"""
    import copy

    model = torch.jit.script(torch.nn.Linear(2, 2).cuda())
    return [str(each.weight.device) for each in (copy.copy(model), copy.deepcopy(model))]


def forks() -> Any:
    """`torch.jit.fork` and `wait` on the device"""

    def work(x: Tensor) -> Tensor:
        future = torch.jit.fork(_doubled, x)
        return torch.jit.wait(future)

    return torch.jit.script(work)(torch.ones(2, device="cuda")).tolist()


def ignored() -> Any:
    """`torch.jit.ignore`d Python that uses the device"""

    return torch.jit.script(_WithPython())(torch.ones(2, device="cuda")).tolist()
