"""Triton: Moore Threads ship one with a backend for their GPUs, and here PyPI's gets one that interprets (`musasim.triton`).

The real package answers `torch.utils._triton.has_triton` in `_inductor/utils.py`, for the same reason as here: torch's own asks
about CUDA, Intel and the CPU alone.
"""

from __future__ import annotations

import functools
from typing import Any

from musasim.triton import add_language, register

from .late_import import after_import


def install() -> None:
    after_import("triton.backends", register)
    after_import("triton.language.extra", add_language)
    after_import("torch.utils._triton", _count_the_device)
    after_import("torch._dynamo.trace_rules", _leave_the_driver_out)


def _count_the_device(module: Any) -> None:
    asks_about_others = module.has_triton

    @functools.cache
    def has_triton(**options: bool) -> bool:  # from torch 2.15 on, whether the CPU counts
        from torch._dynamo.device_interface import get_interface_for_device

        device = get_interface_for_device("musa")
        return bool(device.is_available() and module.has_triton_package()) or bool(asks_about_others(**options))

    module.has_triton = has_triton


def _leave_the_driver_out(rules: Any) -> None:
    """The vendor's driver and launcher are C, which Dynamo cannot trace, so it must not trace what stands for them."""
    rules.add("musasim.triton")
