"""torch.toy: what the toy has of torch.cuda's functions."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch

from torch_toy import state
from torch_toy.state import current_device as current_device


def is_available() -> bool:
    return state.DEVICES > 0


def is_initialized() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return False


def device_count() -> int:
    return state.DEVICES


def set_device(device: Any) -> None:
    index = _index(device)
    if index >= 0:
        state.set_device(index)


class device:
    """While the with-block runs, `device` is the current one; None or -1 change nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> None:
        self._before = state.current_device()
        set_device(self.idx)

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> None:
        state.set_device(self._before)


def synchronize(device: Any = None) -> None:
    """Wait for the device. Kernels of the toy are done when they return."""


def get_device_name(device: Any = None) -> str:
    return "Toy"


def get_device_capability(device: Any = None) -> tuple[int, int]:
    return 1, 0


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.bfloat16, torch.float16]


def manual_seed(seed: int) -> None:
    state.generator(state.current_device()).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    for index in range(state.DEVICES):
        state.generator(index).manual_seed(seed)


def initial_seed() -> int:
    return state.generator(state.current_device()).initial_seed()


def get_rng_state(device: Any = "toy") -> torch.Tensor:
    return state.generator(_index(device)).get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "toy") -> None:
    state.generator(_index(device)).set_state(new_state)


def _index(device: Any) -> int:
    """The number of a device given as one, as a string or as a torch.device; -1 for None, the current one where none is said."""
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return state.current_device() if index is None else index
