"""The device among the profiler's activities.

The vendor's torch is built without CUDA, and such a build lists the activities of a PrivateUse1 backend. PyPI's builds
with CUDA look for an NVIDIA GPU only, up to torch 2.7.1 at least, though they can trace the backend as well.
"""

from __future__ import annotations

from typing import Any

import torch


def install() -> None:
    """Let torch.profiler.supported_activities() name the device, where it does not already."""
    autograd: Any = torch.autograd
    original = autograd._supported_activities
    device = torch.profiler.ProfilerActivity.PrivateUse1
    if device in original():
        return

    def _supported_activities() -> set[Any]:
        return {*original(), device}

    for module in (autograd, autograd.profiler):
        module._supported_activities = _supported_activities
