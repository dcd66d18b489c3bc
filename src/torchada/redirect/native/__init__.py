"""The native mechanism: no call of PyTorch is wrapped, its parser of device strings reads "cuda" as the backend's device.

`choose` says whether it may be used in this process. Any doubt means the portable mechanism, with the reason in `status`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import MISSING


class Mechanism(NamedTuple):
    """How device strings are translated in this process, and why."""

    native: bool
    why: str

    @property
    def name(self) -> str:
        return "native" if self.native else "portable"


def choose(
    wanted: str, torch: Any, device_type: str, *, late: bool, recorded_for: str = "", computes_on: str | None = None
) -> Mechanism:
    """`wanted` is TORCHADA_NATIVE: "0", "1" or "auto"; `late` says that torch was in use before the hook came; `recorded_for`
    names the variable that asks for a record of calls, because the parser's callers cannot be recorded; `computes_on` is the
    device type that tensors really have where it is another one.
    """
    if computes_on is not None:
        return Mechanism(False, f"{device_type} is a name for {computes_on} here, and devices keep the name")
    if wanted == "0":
        return Mechanism(False, "TORCHADA_NATIVE=0")
    if recorded_for:
        return Mechanism(False, f"{recorded_for} records calls")
    if late:
        return Mechanism(False, "torch was imported before torchada, so devices of type cuda may have been made")
    try:
        parser = _module()
    except ImportError as error:
        why = "its extension was not built when torchada was installed (no C compiler?), or not for this interpreter"
        return Mechanism(False, f"{why}: {error}")
    try:
        _check(parser, torch, device_type)
    except Exception as error:
        return Mechanism(False, f"{type(error).__name__}: {error}")
    return Mechanism(True, "checked in this process")


def patch(device_type: str) -> Patch:
    """The record that arms the mechanism when it is applied, and disarms it when it is undone."""
    return Patch(_Parser(_module()), "device parser", device_type, None, note='device strings: "cuda", "cuda:N"')


class _Parser:
    """PyTorch's parser of device strings as the owner of a patch."""

    __torchada_owner__ = True

    def __init__(self, module: ModuleType) -> None:
        self._module: Any = module
        self._device_type: str | None = None

    def get(self, name: str) -> str | None:
        return self._device_type if self._module.is_armed() else None

    def set(self, name: str, value: str | None) -> None:
        self._device_type = value
        if value is None:
            self._module.disarm()
        else:
            self._module.arm(value)

    def delete(self, name: str) -> None:
        self.set(name, None)


def _module() -> ModuleType:
    from torchada.redirect.native import _device_parser

    return _device_parser


def _check(parser: Any, torch: Any, device_type: str) -> None:
    """Arm the mechanism, check how PyTorch reads device strings, and disarm it; raises when any answer is not as expected."""
    if torch.version.cuda and torch.cuda.device_count() > 0:
        raise RuntimeError("a CUDA device is usable, and programs must still be able to name it")
    readers = list(_readers(torch))
    parser.arm(device_type)
    try:
        for name, expected in {"cuda": device_type, "cuda:1": f"{device_type}:1", "cpu": "cpu", "meta": "meta"}.items():
            for read in readers:
                _expect(str(read(name)), expected)
        _expect(_refusal(torch, "cuda:x"), "Invalid device string: 'cuda:x'")
    finally:
        parser.disarm()
    for read in readers:
        _expect(read("cuda").type, "cuda")


def _readers(torch: Any) -> Iterator[Callable[[str], Any]]:
    """The ways from a string to a device: two in libtorch_python, and TorchScript's in libtorch_cpu."""
    yield torch.device
    yield lambda name: torch._C._nn._parse_to(name)[0]
    if hasattr(torch._C, "_jit_get_operation"):
        operation, _ = torch._C._jit_get_operation("aten::device")
        yield operation


def _refusal(torch: Any, name: str) -> str:
    try:
        return f"no error but {torch.device(name)!r}"
    except RuntimeError as error:
        return str(error).splitlines()[0]


def _expect(actual: str, expected: str) -> None:
    if actual != expected:
        raise RuntimeError(f"self-check: PyTorch answers {actual!r} where {expected!r} was expected")


Replace = Callable[[BaseException], BaseException]


def error_texts(replaced: Replace) -> Patch:
    """A patch: for each error that PyTorch raises from C++, `replaced(error)` is raised. Raises Skip without the C part."""
    try:
        from torchada.redirect.native import _error_texts as module
    except ImportError as error:
        raise Skip(f"the extension for texts of errors was not built: {error}") from None
    return Patch(_ErrorTexts(module), "replaced", replaced, None, note="texts of errors that PyTorch raises from C++")


class _ErrorTexts:
    __torchada_owner__ = True

    def __init__(self, module: Any) -> None:
        self._module = module
        self._armed: Any = MISSING

    def get(self, name: str) -> Any:
        return self._armed

    def set(self, name: str, value: Replace) -> None:
        self._module.arm(value)
        self._armed = value

    def delete(self, name: str) -> None:
        self._module.disarm()
        self._armed = MISSING
