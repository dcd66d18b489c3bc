"""Fused modules: for floating point here, for training with simulated quantization in `qat`, in eight bits in `quantized`."""

from .modules import ConvAddSiLU2d, ConvBnSiLU2d, ConvSiLU2d

__all__ = ["ConvAddSiLU2d", "ConvBnSiLU2d", "ConvSiLU2d"]
