"""torch.cuda by the name that it had in torchada 0.1: every name is looked up when it is used."""

from __future__ import annotations

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a type checker would take every unknown name for an object

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in ("amp", "nvtx", "random"):
            return import_module(f"torchada.cuda.{name}")
        from torchada.compat.legacy import names_of

        return names_of("cuda")(name)
