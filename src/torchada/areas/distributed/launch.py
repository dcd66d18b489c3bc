"""torchrun --nproc-per-node=gpu: as many processes as there are devices.

torch consults torch.cuda.is_available(), which stays False, and accepts a third party's device by its name. The option is changed
where argparse reads it and not in torch.distributed.run, because `python -m torch.distributed.run` has its own copy of that module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from argparse import Action, ArgumentParser, Namespace

_OPTION = "nproc_per_node"


def patches(context: Context) -> Iterator[Patch]:
    from torch.distributed.argparse_util import env as action

    note = "torchrun --nproc-per-node=gpu"
    device_type = context.backend.device_type
    own = _number(context) if context.backend.computes_on else _type(device_type)
    to = f"torchrun --nproc-per-node={device_type}"
    yield Patch(action, "__init__", _init(action.__init__, own), None, to=to, note=note)
    yield Patch(action, "__call__", _call(action.__call__, own), None, to=to, note=note)


def _number(context: Context) -> Mapping[object, Callable[[], str]]:
    """torch knows no device of that type, neither by its name nor as an accelerator ("auto"), so it is given the number."""

    def number() -> str:
        return str(context.namespace.device_count())

    return {"gpu": number, "auto": number}


def _type(device_type: str) -> Mapping[object, Callable[[], str]]:
    return {"gpu": lambda: device_type}


def _init(original: Callable[..., None], own: Mapping[object, Callable[[], str]]) -> Callable[..., None]:
    def __init__(self: Action, *args: object, **kwargs: object) -> None:
        original(self, *args, **kwargs)
        if self.dest == _OPTION and self.default in own:  # PET_NPROC_PER_NODE
            self.default = own[self.default]()

    return disguise(__init__, original)


def _call(original: Callable[..., None], own: Mapping[object, Callable[[], str]]) -> Callable[..., None]:
    def __call__(
        self: Action, parser: ArgumentParser, namespace: Namespace, values: object, option_string: str | None = None
    ) -> None:
        given = own[values]() if self.dest == _OPTION and values in own else values
        original(self, parser, namespace, given, option_string)

    return disguise(__call__, original)
