"""Types of autocast."""

from __future__ import annotations

import torch

from ...core.device import is_bf16_supported


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Types that autocast can compute in."""
    return [torch.float16, torch.float32, *([torch.bfloat16] if is_bf16_supported() else [])]
