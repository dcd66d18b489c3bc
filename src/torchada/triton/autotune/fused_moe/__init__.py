"""Tuning of the fused mixture-of-experts kernel, by the name that it had in torchada 0.1."""
