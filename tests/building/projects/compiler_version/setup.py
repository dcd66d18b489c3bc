"""Asks the compiler for its version, and compares it with the one that torch was built with, as apex and flash-attn do."""

import subprocess

import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CUDAExtension

if CUDA_HOME is None:
    raise RuntimeError("needs a CUDA toolkit")
output = subprocess.check_output([CUDA_HOME + "/bin/nvcc", "-V"], universal_newlines=True).split()
release = output[output.index("release") + 1].rstrip(",")
if release.split(".")[0] != torch.version.cuda.split(".")[0]:
    raise RuntimeError(f"the compiler is of CUDA {release}, and torch of {torch.version.cuda}")
if tuple(map(int, release.split("."))) < (11, 6):
    raise RuntimeError("needs CUDA 11.6")
major, minor = torch.cuda.get_device_capability()

setup(
    name="compiler_version",
    ext_modules=[
        CUDAExtension(
            "compiler_version",
            ["csrc/kernel.cu"],
            extra_compile_args={"nvcc": [f"-gencode=arch=compute_{major}{minor},code=sm_{major}{minor}"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
