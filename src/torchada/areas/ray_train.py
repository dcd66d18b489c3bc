"""Ray Train's workers: each makes its GPU the current one where the type of that GPU is "cuda"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    import ray.train.torch.config as config

    manager = config.TorchConfigContextManager
    enter = _enter(context, vars(manager)["__enter__"])
    yield Patch(manager, "__enter__", enter, "ray.train.torch.TorchTrainer")


def _enter(context: Context, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    own, cuda = context.backend.device_type, context.torch.cuda

    def __enter__(self: Any) -> Any:
        from ray.train.torch import get_device

        if cuda.is_available():
            device = get_device()
            if device.type == own:
                cuda.set_device(device)
        return original(self)

    return disguise(__enter__, original)
