"""Marks for a profiler where the backend has no runtime: as on CUDA while none is attached, they do nothing and succeed.

Training scripts set them without asking: `torch.cuda.profiler.start()`, `torch.cuda.cudart().cudaProfilerStart()`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from torchada.redirect.calls import plain
from torchada.redirect.context import Context
from torchada.redirect.unsupported import UnsupportedAttributeError, error

_OF_THE_RUNTIME = ("cudaProfilerInitialize", "cudaProfilerStart", "cudaProfilerStop")


def functions(context: Context) -> dict[str, tuple[Any, Callable[..., object]]]:
    """By their paths in torch.cuda: torch's function, and ours, which takes what torch's takes."""
    cuda = context.torch.cuda
    return {
        "cudart": (cuda.cudart, cudart(context)),
        "check_error": (cuda.check_error, plain(check_error)),
        "profiler.start": (cuda.profiler.start, _marking()),
        "profiler.stop": (cuda.profiler.stop, _marking()),
    }


def cudart(context: Context) -> Callable[[], ModuleType]:
    """torch.cuda.cudart: a module of these functions. What else CUDA's has is refused by name when it is read."""
    module = ModuleType("torch._C._cudart", "The functions of libcudart for profilers.")

    def refuse(name: str) -> object:
        refusal = error(context, f"torch.cuda.cudart().{name}", "there is no runtime")
        raise UnsupportedAttributeError(str(refusal))

    entries = vars(module)
    entries.update(dict.fromkeys(_OF_THE_RUNTIME, _success), cudaError=SimpleNamespace(success=0), __getattr__=refuse)
    return lambda: module


def check_error(res: int) -> None:
    """torch.cuda.check_error of what these functions return."""
    if res != 0:
        raise RuntimeError(f"error {res} of a runtime that is not there")


def _marking() -> Callable[[], None]:
    def mark() -> None:
        """Nothing listens."""

    return mark


def _success(*args: object) -> int:
    return 0
