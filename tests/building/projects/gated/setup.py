"""Builds its kernels where there is CUDA, and something else where there is none."""

import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension

if torch.cuda.is_available() and CUDA_HOME is not None:
    extension = CUDAExtension("gated", ["csrc/gated.cpp", "csrc/gated_cuda.cu"], define_macros=[("WITH_CUDA", None)])
else:
    extension = CppExtension("gated", ["csrc/gated.cpp"])
setup(name="gated", ext_modules=[extension], cmdclass={"build_ext": BuildExtension})
