"""What torch_musa tells PyTorch about operators that its own torch declares."""

from . import register_fake_impl

__all__ = ["register_fake_impl"]
