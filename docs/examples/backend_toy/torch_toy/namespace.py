"""torch.toy: what the toy has of torch.cuda's functions. torchada finds them here by their names."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from typing import Any

import torch


def device_count() -> int:
    """One, because the guard that PyTorch offers for devices in Python knows one; none where the variable hides it."""
    return int(os.environ.get("TOY_VISIBLE_DEVICES", "0") == "0")


def is_available() -> bool:
    return device_count() > 0


def current_device() -> int:
    return 0


class device(contextlib.nullcontext[None]):
    """While its with-block runs, the device is current: it always is. torch.load enters it."""

    def __init__(self, device: Any) -> None:
        super().__init__()


def is_initialized() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return False


def synchronize(device: Any = None) -> None:
    """Wait for the device. Kernels of the toy are done when they return."""


def get_device_name(device: Any = None) -> str:
    return "Toy"


def get_device_capability(device: Any = None) -> tuple[int, int]:
    return 1, 0


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.bfloat16, torch.float16]


@cache
def generator() -> torch.Generator:
    """What kernels draw from. It is the CPU's kind, as the kernels are."""
    return torch.Generator("cpu").manual_seed(0)


def manual_seed(seed: int) -> None:
    generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    generator().manual_seed(seed)


def initial_seed() -> int:
    return generator().initial_seed()


def get_rng_state(device: Any = "toy") -> torch.Tensor:
    return generator().get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "toy") -> None:
    generator().set_state(new_state)
