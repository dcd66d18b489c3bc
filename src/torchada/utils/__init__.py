"""Names of earlier releases of torchada."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchada.utils import cpp_extension as cpp_extension

__all__ = ["cpp_extension"]

if not TYPE_CHECKING:  # a type checker would take every unknown name for an object

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.{name}")
