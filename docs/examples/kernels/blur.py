"""Runs blur.cu on 64 numbers."""

import ctypes

import torch

library = ctypes.CDLL("./blur.so")
x, y = torch.arange(64.0, device="cuda"), torch.zeros(64, device="cuda")
library.launch_blur(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), 64, False)
print(y[:3].tolist(), y[33].item())
