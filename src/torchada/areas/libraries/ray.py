"""Ray Train: its workers and its data loaders handle only devices whose type is "cuda"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import R

_TRIED = "ray 2.60"


def workers(context: Context) -> Iterator[Patch]:
    """Each worker makes its GPU the current one."""
    import ray.train.torch.config as config

    manager = config.TorchConfigContextManager
    enter = _enter(context, vars(manager)["__enter__"])
    yield Patch(manager, "__enter__", enter, None, since=_TRIED, note="ray.train.torch.TorchTrainer")


def _enter(context: Context, original: Callable[[object], R]) -> Callable[[object], R]:
    own, cuda = context.backend.device_type, context.torch.cuda

    def __enter__(self: object) -> R:
        from ray.train.torch import get_device

        if cuda.is_available():
            device = get_device()
            if device.type == own:
                cuda.set_device(device)
        return original(self)

    return disguise(__enter__, original)


def loaders(context: Context) -> Iterator[Patch]:
    """`prepare_data_loader` looks up, by the type of the device, how to copy."""
    # The modules that use the function import it from here later, and then get ours.
    import ray.air._internal.device_manager as managers

    name = "get_torch_device_manager_by_device_type"
    by_type = _by_type(context.backend.device_type, getattr(managers, name))
    yield Patch(managers, name, by_type, None, since=_TRIED, note="ray.train.torch.prepare_data_loader")


def _by_type(own: str, original: Callable[[str], R]) -> Callable[[str], R]:
    def get_torch_device_manager_by_device_type(device_type: str) -> R:
        return original("cuda" if device_type == own else device_type)

    return disguise(get_torch_device_manager_by_device_type, original)
