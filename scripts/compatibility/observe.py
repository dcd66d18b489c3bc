"""What using a name does: the kind of its answer is observed in the call, not looked up in a table.

While a sample runs, the profiler hook of the interpreter sees which functions are called: those of the backend's adapter, its C
functions, and those of torch.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, FrameType, ModuleType
from typing import Any

import torch
from scripts.compatibility.names import Name
from scripts.compatibility.samples import Sample, sample_of

from torchada.redirect.unsupported import UnsupportedError

KINDS = ("same", "adapted", "emulated", "unsupported")


@dataclass(frozen=True)
class Observation:
    """`kind` is one of KINDS, or "unaccounted" with the fault in `how`."""

    kind: str
    how: str = ""


def observe(name: Name) -> Observation:
    """Use `name` and describe the result."""
    module = sys.modules[name.module]
    try:
        value = getattr(module, name.name)
    except AttributeError as missing:
        return Observation("unaccounted", f"AttributeError: {missing}")
    own = _same_object(value)
    if own is not None and not _has_patches(value):
        return Observation("same", own)
    sample = sample_of(name, value)
    return _run(sample, own) if sample is not None else _passive(value)


def _same_object(value: Any) -> str | None:
    """Where torch.musa has the same object; None for values that are the same object everywhere, such as True."""
    if value is None or isinstance(value, (bool, int, str, tuple)):
        return None
    musa: Any = torch.musa  # type: ignore[attr-defined]
    for space, label in ((musa, "torch.musa"), (musa._MUSAC, "torch.musa._MUSAC"), *_submodules()):
        for name, entry in vars(space).items():
            if entry is value:
                return f"{label}.{name}"
    return None


def _submodules() -> list[tuple[ModuleType, str]]:
    loaded = ((name, sys.modules[name]) for name in sorted(sys.modules) if name.startswith("torch_musa."))
    return [(module, name) for name, module in loaded if isinstance(module, ModuleType)]


def _has_patches(value: Any) -> bool:
    """Whether torchada has changed something in the class itself."""
    from torchada.redirect.engine import ENGINE

    return any(record.patch.owner is value for records in ENGINE.applied().values() for record in records)


def _passive(value: Any) -> Observation:
    """A value, a type or an exception: there is nothing to call."""
    if isinstance(value, type):
        origin = value.__module__.partition(".")[0]
        return Observation("same" if origin == "torch" else "adapted", f"a class of {value.__module__}")
    if callable(value):
        return Observation("unaccounted", "there is no sample of a call: add one to scripts/compatibility/samples.py")
    return Observation("same", "a value")


def _run(sample: Sample, own: str | None) -> Observation:
    reached = _Reached()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample.before()
            try:
                reached.watch(sample.run)
            finally:
                sample.after()
    except UnsupportedError as refused:
        return Observation("unsupported", str(refused).partition(": ")[2])
    except Exception as error:
        if sample.raises is not None and isinstance(error, sample.raises):
            return Observation("same", f"raises {type(error).__name__}, as on CUDA")
        return Observation("unaccounted", f"{type(error).__name__}: {error}")
    if sample.raises not in (None, Exception):
        return Observation("unaccounted", f"should raise {sample.raises.__name__}, and did not")
    if reached.the_backend:
        return Observation("adapted", ", ".join(dict.fromkeys([own] if own else reached.the_backend[:1])))
    return Observation("emulated" if reached.torchada else "same", "torchada" if reached.torchada else "torch's own")


class _Reached:
    """What a call reached, of the adapter (in order) and of torchada."""

    def __init__(self) -> None:
        self.the_backend: list[str] = []
        self.torchada = False

    def watch(self, call: Callable[[], Any]) -> None:
        sys.setprofile(self._event)
        try:
            call()
        finally:
            sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            module = str(frame.f_globals.get("__name__", ""))
            root = module.partition(".")[0]
            if root == "torch_musa" and not module.startswith(_VENDORS_TORCH):
                self.the_backend.append(f"{module}.{getattr(frame.f_code, 'co_qualname', frame.f_code.co_name)}")
            self.torchada |= root == "torchada" and module not in _TRANSLATION
        elif event == "c_call" and isinstance(argument, BuiltinFunctionType):
            home = str(getattr(argument, "__module__", None) or getattr(argument.__self__, "__name__", ""))
            if home.startswith("torch_musa"):
                self.the_backend.append(f"{home}.{argument.__name__}")
            elif home.startswith("torch") and argument.__name__ in _DEVICE_WORK:
                self.the_backend.append(f"torch.{argument.__name__}")


# Code that only translates a device and calls on does not count as an answer; under the native mechanism there is none.
_TRANSLATION = frozenset({"torchada.areas.tensors.device", "torchada.redirect.calls", "torchada.redirect.device_names"})
# Code of the simulator for what the vendor's build of torch does itself, such as finders of modules.
_VENDORS_TORCH = "torch_musa._vendor_torch"
_DEVICE_WORK = frozenset({"empty", "zeros", "sparse_coo_tensor", "to"})
