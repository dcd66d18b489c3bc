"""Settings of Triton kernels while a program runs, by the name that they had in torchada 0.1."""
