"""max-autotune in sub-processes: each is given one device, by the variable that hides the others."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    import torch._inductor.autotune_process as processes

    variable = context.backend.visible_devices
    # CUDA_VISIBLE_DEVICES itself would not do: where the user has set the backend's own variable, that one counts.
    yield Patch(
        processes,
        "CUDA_VISIBLE_DEVICES",
        variable,
        "torch._inductor.autotune_process.CUDA_VISIBLE_DEVICES",
        to=variable,
    )
