"""Tuning of Triton kernels, by the name that it had in torchada 0.1."""
