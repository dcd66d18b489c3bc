"""The device among the profiler's activities.

The vendor's torch is built without CUDA, and such a build lists the activities of a PrivateUse1 backend. PyPI's builds
with CUDA only look for an NVIDIA GPU, at least up to torch 2.7.1, although they can trace the backend as well.
"""

from __future__ import annotations

from typing import Any

import torch


def install() -> None:
    """Add the device to torch.profiler.supported_activities(), unless it is there already."""
    autograd: Any = torch.autograd
    original = autograd._supported_activities
    device = torch.profiler.ProfilerActivity.PrivateUse1
    if device in original():
        return

    def _supported_activities() -> set[Any]:
        return {*original(), device}

    for module in (autograd, autograd.profiler):
        module._supported_activities = _supported_activities
