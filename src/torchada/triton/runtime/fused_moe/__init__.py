"""Settings of the fused mixture-of-experts kernel, by the name that they had in torchada 0.1."""
