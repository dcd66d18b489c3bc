"""DistributedDataParallel's bf16_compress_hook: torch accepts it only with a version of CUDA, which the backend does not have.

Its `device_type` answers by who asks, as that of a device does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.kept_names import kept_name

if TYPE_CHECKING:
    from torch.nn.parallel import DistributedDataParallel

    Hook = Callable[..., object]
    Check = Callable[[DistributedDataParallel, Hook], None]


def patches(context: Context) -> Iterator[Patch]:
    parallel = context.torch.nn.parallel.DistributedDataParallel
    kept = kept_name(context, parallel, "device_type")
    yield Patch(parallel, "device_type", kept, None, note="DistributedDataParallel.device_type by who asks")
    if not hasattr(parallel, "_check_comm_hook"):
        return  # this torch does not check communication hooks
    check = _check_comm_hook(parallel._check_comm_hook)
    note, to = "DistributedDataParallel.register_comm_hook(bf16_compress_hook)", "the backend's collectives of bfloat16"
    yield Patch(parallel, "_check_comm_hook", check, None, to=to, note=note)


def _check_comm_hook(original: Check) -> Check:
    def _check_comm_hook(self: DistributedDataParallel, hook: Hook) -> None:
        if not getattr(hook, "__name__", "").startswith("bf16_compress"):
            original(self, hook)
            return

        def under_another_name(state: object, bucket: object) -> object:
            return hook(state, bucket)

        # The rest of the check looks at the signature.
        under_another_name.__signature__ = inspect.signature(hook)  # type: ignore[attr-defined]
        original(self, under_another_name)

    return disguise(_check_comm_hook, original)
