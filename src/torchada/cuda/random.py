"""torch.cuda.random by the name that it had in torchada 0.1."""

from __future__ import annotations

from torchada.compat.legacy import names_of

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a type checker would take every unknown name for an object
    __getattr__ = names_of("cuda.random")
