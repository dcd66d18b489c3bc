"""Random state. Kernels of the host draw from the CPU's generator, so that is every device's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from torch_host.devices import device_count, index_of


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device, which is the CPU's."""
    torch.default_generator.manual_seed(int(seed))


manual_seed_all = manual_seed


def seed() -> None:
    """Seed by chance."""
    torch.default_generator.seed()


seed_all = seed


def initial_seed() -> int:
    return torch.default_generator.initial_seed()


def _check(device: Any) -> None:
    """torch.cuda makes a device of numbers and texts, and asks whatever else it is given for its `index`."""
    given = torch.device("cuda", device) if isinstance(device, int) else device
    index_of((torch.device(given) if isinstance(given, str) else given).index)


def get_rng_state(device: Any = "cuda") -> torch.Tensor:
    _check(device)
    return torch.default_generator.get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
    _check(device)
    torch.default_generator.set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
