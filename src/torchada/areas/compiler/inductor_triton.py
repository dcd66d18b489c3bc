"""Inductor's Triton kernels: each of their modules asks again which driver is active, in a way of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def driver(context: Context) -> Iterator[Patch]:
    """Where CUDA is available, torch takes NVIDIA's driver for active, even if that driver says that it is not."""
    import torch._inductor.runtime.triton_helpers as helpers

    original = getattr(helpers, "_is_backend_active", None)
    if original is None:
        raise Skip("this torch believes the drivers")
    note = "the driver of Inductor's Triton kernels"
    yield Patch(helpers, "_is_backend_active", _is_backend_active(original), None, note=note, since="torch 2.13")


def _is_backend_active(original: Callable[[str, object], bool]) -> Callable[[str, object], bool]:
    def is_backend_active(name: str, backend: object) -> bool:
        return name not in ("nvidia", "amd") and original(name, backend)

    return disguise(is_backend_active, original)
