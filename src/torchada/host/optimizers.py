"""Optimizers with capturable=True list the devices that can capture a step in a graph; on the host, the CPU is one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from typing import Any

_NAME = "_get_capturable_supported_devices"


def patches(context: Context) -> Iterator[Patch]:
    original = getattr(sys.modules.get(f"{context.torch.optim.__name__}.optimizer"), _NAME, None)
    if original is None:
        raise Skip(f"this torch has no {_NAME}")
    listed = disguise(_with_the_cpu(original), original)
    prefix = f"{context.torch.optim.__name__}."
    for name, module in list(sys.modules.items()):
        if name.startswith(prefix) and vars(module).get(_NAME) is original:
            yield Patch(module, _NAME, listed, None, note="optimizers with capturable=True")


def _with_the_cpu(original: Callable[..., list[str]]) -> Callable[..., list[str]]:
    def _get_capturable_supported_devices(*args: Any, **kwargs: Any) -> list[str]:
        return [*original(*args, **kwargs), "cpu"]

    return _get_capturable_supported_devices
