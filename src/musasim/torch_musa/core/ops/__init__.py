"""What torch_musa tells PyTorch about operators that its own torch declares, and about some that it refuses."""

from . import _flash_attention as _flash_attention
from . import _refused as _refused
from . import register_fake_impl

__all__ = ["register_fake_impl"]
