"""The questions about the platform by the module that they had in torchada 0.1."""

from __future__ import annotations

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a type checker would take every unknown name for an object

    def __getattr__(name: str) -> object:
        from torchada.control import platforms

        if name not in platforms.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from torchada.compat.legacy import deprecated

        deprecated(f"torchada._platform.{name}", f"torchada.{name}")
        return getattr(platforms, name)
