"""What code sees of a device, by C functions in the place of torch.device's own: a question costs what it costs without them.

`texts` and `available` make them for this process. Any doubt is an error that says why, and the caller then answers in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from torchada.redirect.slots import TP_REPR, TP_STR, Slot, check_layout
from torchada.views import Views

if TYPE_CHECKING:
    from torchada.redirect.types import Device

# A module that sees CUDA, for the self-check.
_CHECK = "torchada.redirect.native.check"


class Texts(NamedTuple):
    """What replaces the entries of torch.device: descriptors by name, and the addresses of functions by slot."""

    descriptors: dict[str, Any]
    slots: dict[str, int]


def texts(torch: Any, device_type: str, views: Views) -> Texts:
    """The functions that answer by who asks. Raises where they are not built, or do not fit this interpreter or this torch."""
    module: Any = _module()
    check_layout(torch.device)
    _check_memory(module, torch, device_type)
    _check_slots(module, torch.device)
    example = torch.device(device_type)
    with _asked_by_the_check(module, views):
        _check(torch, device_type, module.bind(example, device_type))
    return Texts(module.bind(example, device_type), module.slots())


def available(views: Views, devices: Callable[[], bool]) -> Callable[[], bool]:
    """A function for torch.cuda.is_available: code that sees CUDA gets the answer of `devices`, and other code False.

    A call of it costs hardly more than one of `devices`. Raises where it is not built, or does not do so in this interpreter.
    """
    module: Any = _module()
    with _asked_by_the_check(module, views):
        for name, answer in {_CHECK: _CHECK, __name__: False}.items():
            _expect(_in(name, _called)(module.available(lambda: _CHECK)), answer)
    function: Callable[[], bool] = module.available(devices)
    return function


@contextmanager
def _asked_by_the_check(module: Any, views: Views) -> Iterator[None]:
    """Let the self-check alone see CUDA; afterwards, `views` answer for everybody."""
    module.ask({_CHECK: True}, lambda namespace: False)
    try:
        yield
    finally:
        module.ask(views.table, views.decide)


def _module() -> ModuleType:
    from torchada.redirect.native import _device_views

    return _device_views


def _check_memory(module: Any, torch: Any, device_type: str) -> None:
    """Check that a device keeps its type and its index where the C functions read them."""
    types = {name: module.bytes_of(torch.device(name))[0] for name in ("cpu", "meta", device_type)}
    _expect(len(set(types.values())), 3)
    for device in _devices(torch, device_type):
        index = -1 if device.index is None else device.index
        _expect(module.bytes_of(device), (types[device.type], index))


def _check_slots(module: Any, device: type) -> None:
    of_python = module.slots_of(device)
    _expect(Slot(device, TP_STR).read(), of_python["tp_str"])
    _expect(Slot(device, TP_REPR).read(), of_python["tp_repr"])


def _check(torch: Any, device_type: str, made: dict[str, Any]) -> None:
    """Check what the C functions say against torch's own texts, for code that sees the backend and for code that sees CUDA."""
    for device in _devices(torch, device_type):
        for name, entry in made.items():
            text = _answer(name, vars(torch.device)[name], device, __name__)
            for _ in range(2):  # made, and then kept
                _expect(_answer(name, entry, device, __name__), text)
                _expect(_answer(name, entry, device, _CHECK), text.replace(device_type, "cuda"))


def _answer(name: str, entry: Any, device: Device, module: str) -> str:
    """What a descriptor says of `device` to the code of `module`."""
    answer: str = _in(module, _attribute if name == "type" else _called)(entry, device)
    return answer


def _attribute(entry: Any, device: Device) -> object:
    return entry.__get__(device)


def _called(function: Callable[..., object], *arguments: object) -> object:
    return function(*arguments)


def _in(module: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as code of `module`, without compiling anything."""
    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, {"__name__": module})


def _devices(torch: Any, device_type: str) -> Iterator[Device]:
    yield from map(torch.device, ("cpu", "meta", device_type))
    yield from (torch.device(device_type, index) for index in (0, 1, 127))


def _expect(actual: object, expected: object) -> None:
    if actual != expected:
        raise RuntimeError(f"self-check: {actual!r} was found where {expected!r} was expected")
