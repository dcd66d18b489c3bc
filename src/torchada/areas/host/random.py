"""torch.random.fork_rng: every device draws from the CPU's generator, whose state it always keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import EntryPoint


def patches(context: Context) -> Iterator[Patch]:
    random = context.torch.random
    fork_rng = _fork_rng(random.fork_rng)
    yield Patch(random, "fork_rng", fork_rng, 'torch.random.fork_rng(device_type="cuda")')


def _fork_rng(original: Callable[..., Any]) -> EntryPoint:
    def fork_rng(devices: object = None, *args: Any, **kwargs: Any) -> Any:
        return original(() if devices is None else devices, *args, **kwargs)

    return EntryPoint(original, fork_rng, "torch.random:fork_rng")
