"""torch.random.fork_rng(device_type="cuda"). Seeds and states are names of torch.cuda, and torch.manual_seed seeds every device.

Programs for several accelerators (the Trainer of transformers) use the module `random` of each, as torch.cuda has one. Where the
backend's namespace has none, a training that is resumed would go on with other random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import translating


def patches(context: Context) -> Iterator[Patch]:
    random = context.torch.random
    fork_rng = translating(random.fork_rng, context.devices, "device_type", 4, "torch.random:fork_rng")
    yield Patch(random, "fork_rng", fork_rng, 'torch.random.fork_rng(device_type="cuda")')
    if not hasattr(context.namespace, "random"):
        note = f"torch.{context.backend.namespace}.random"
        yield Patch(context.namespace, "random", context.torch.cuda.random, None, to="torch.cuda.random", note=note)
