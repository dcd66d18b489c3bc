"""What `gated`, `rope` and `rms_norm` share: operators and modules that the vendor's torch declares and PyPI's does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

_kept: list[Any] = []  # an operator exists as long as its library


def declared(schemas: Iterable[str]) -> Any:
    """A library with these operators of aten, for their kernels. It is kept for good."""
    library: Any = torch.library.Library("aten", "FRAGMENT")  # type: ignore[no-untyped-call]
    _kept.append(library)
    for schema in schemas:
        library.define(schema)
    return library


def add_activation(name: str, module: type[torch.nn.Module]) -> None:
    """Put a module where torch.nn keeps its activations."""
    for place in (torch.nn, torch.nn.modules, torch.nn.modules.activation):
        vars(place)[name] = module
