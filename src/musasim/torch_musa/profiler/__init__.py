"""Additions to torch.profiler: what looks for wasted time in a profile knows this device's launches and copies.

torch 2.15 has no such tools any more.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._vendor_torch.late_import import Action, after_import

_NAMES = {
    "_utils": ("BasicEvaluation",),
    "_pattern_matcher": (
        "ExtraMUSACopyPattern",
        "FP32MatMulPattern",
        "MatMulDimInFP16Pattern",
        "report_all_anti_patterns",
    ),
}

#: What torch's module has in the releases that have these tools.
_OF_TORCH = {"_utils": "BasicEvaluation", "_pattern_matcher": "Pattern"}


def set_profiler_attributes() -> None:
    """Let the names of torch.profiler's modules be those of the modules here, once torch's are imported."""
    for part in _NAMES:
        after_import(f"torch.profiler.{part}", _import(part))


def _import(part: str) -> Action:
    def replace(module: Any) -> None:
        if hasattr(module, _OF_TORCH[part]):
            # Its import does it. It may be under way: a program imports it, and it imports torch's.
            import_module(f"{__name__}.{part}")

    return replace


def __getattr__(name: str) -> Any:
    """The same names, which the real package imports with this one."""
    for part, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{part}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
