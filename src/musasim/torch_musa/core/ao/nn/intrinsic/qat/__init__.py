"""The fused modules for training with simulated quantization."""

from .modules import ConvBnSiLU2d, ConvSiLU2d

__all__ = ["ConvBnSiLU2d", "ConvSiLU2d"]
