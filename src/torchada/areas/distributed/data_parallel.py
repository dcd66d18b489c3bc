"""DistributedDataParallel's hook that sends bfloat16 asks for a version of CUDA, and otherwise for what there is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    parallel = context.torch.nn.parallel.DistributedDataParallel
    if not hasattr(parallel, "_check_comm_hook"):
        raise Skip("this torch does not check communication hooks")
    check = _check_comm_hook(parallel._check_comm_hook)
    note, to = "DistributedDataParallel.register_comm_hook(bf16_compress_hook)", "the backend's collectives of bfloat16"
    yield Patch(parallel, "_check_comm_hook", check, None, to=to, note=note)


def _check_comm_hook(original: Callable[..., None]) -> Callable[..., None]:
    def _check_comm_hook(self: Any, hook: Any) -> None:
        if not getattr(hook, "__name__", "").startswith("bf16_compress"):
            original(self, hook)
            return

        def under_another_name(state: Any, bucket: Any) -> Any:
            return hook(state, bucket)

        # The rest of the check, which looks at the signature.
        under_another_name.__signature__ = inspect.signature(hook)  # type: ignore[attr-defined]
        original(self, under_another_name)

    return disguise(_check_comm_hook, original)
