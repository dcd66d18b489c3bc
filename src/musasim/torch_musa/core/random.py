"""Random state of the devices."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from .. import torch_musa
from ._lazy_init import _lazy_call, _lazy_init
from .device import current_device, device_count

__all__ = [
    "fork_rng",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]

_stock_fork_rng = getattr(torch.random.fork_rng, "_stock", torch.random.fork_rng)


def get_rng_state(device: int | str | torch.device = "musa") -> torch.Tensor:
    """Random state of `device`, as a byte tensor on the CPU."""
    _lazy_init()
    return _generator(_as_device(device)).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """Random states of all devices."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: torch.Tensor, device: int | str | torch.device = "musa") -> None:
    """Set the state of `device` to one that get_rng_state() returned."""
    # Copied now, because the call may run later and the caller may change the tensor before that.
    state = new_state.clone(memory_format=torch.contiguous_format)
    asked = _as_device(device)
    _lazy_call(lambda: _set_state(asked, state))


def _set_state(device: torch.device, state: torch.Tensor) -> None:
    _generator(device).set_state(state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Set the state of every device."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seed the current device."""
    seed = int(seed)
    _lazy_call(lambda: _seed_with(seed, current_device()), seed=True)


def manual_seed_all(seed: int) -> None:
    """Seed all devices."""
    seed = int(seed)
    _lazy_call(lambda: _seed_with(seed, *range(device_count())), seed_all=True)


def _seed_with(seed: int, *indices: int) -> None:
    for index in indices:
        _default_generators()[index].manual_seed(seed)


def seed() -> None:
    """Seed the current device with a random number. Before initialisation, seeds that are given count, whatever the order."""
    _lazy_call(lambda: _seed_from(current_device()))


def seed_all() -> None:
    """Seed all devices with the same random number."""
    _lazy_call(lambda: _seed_from(*range(device_count())))


def _seed_from(first: int, *others: int) -> None:
    _seed_with(_default_generators()[first].seed(), *others)


def initial_seed() -> int:
    """The seed of the current device."""
    _lazy_init()
    return int(_default_generators()[current_device()].initial_seed())


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "musa",
) -> Iterator[None]:
    """torch.random.fork_rng with musa as the default device type."""
    with _stock_fork_rng(devices, enabled, _caller, _devices_kw, device_type):
        yield


# A reloaded package finds the original here, so that this function never wraps itself.
fork_rng._stock = _stock_fork_rng  # type: ignore[attr-defined]


def _as_device(device: int | str | torch.device) -> torch.device:
    """The device that a number or a string names; anything else is asked for its index, as in torch_musa."""
    if isinstance(device, int):
        return torch.device("musa", device)
    return torch.device(device) if isinstance(device, str) else device


def _generator(device: torch.device) -> torch.Generator:
    index = device.index
    return _default_generators()[current_device() if index is None else index]


def _default_generators() -> tuple[torch.Generator, ...]:
    generators: tuple[torch.Generator, ...] = torch_musa.default_generators
    return generators
