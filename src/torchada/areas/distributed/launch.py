"""torchrun --nproc-per-node=gpu: as many processes as there are devices.

Torch asks torch.cuda.is_available(), which stays honest, and takes a third party's device by its name. The option is read here
and not in torch.distributed.run, whose functions `python -m torch.distributed.run` has a copy of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_OPTION = "nproc_per_node"


def patches(context: Context) -> Iterator[Patch]:
    from torch.distributed.argparse_util import env as action

    note = "torchrun --nproc-per-node=gpu"
    to = f"torchrun --nproc-per-node={context.backend.device_type}"
    yield Patch(action, "__init__", _init(action.__init__, context.backend.device_type), None, to=to, note=note)
    yield Patch(action, "__call__", _call(action.__call__, context.backend.device_type), None, to=to, note=note)


def _init(original: Callable[..., None], device_type: str) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if self.dest == _OPTION and self.default == "gpu":  # PET_NPROC_PER_NODE
            self.default = device_type

    return disguise(__init__, original)


def _call(original: Callable[..., None], device_type: str) -> Callable[..., None]:
    def __call__(self: Any, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        own = device_type if self.dest == _OPTION and values == "gpu" else values
        original(self, parser, namespace, own, option_string)

    return disguise(__call__, original)
