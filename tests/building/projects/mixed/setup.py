"""CUDA sources beside MUSA ones, flags for MUSA's compiler, and C++ that it compiles too: the shape of sgl-kernel and vllm-musa."""

from pathlib import Path

import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

import torchada  # noqa: F401

root = Path(__file__).parent.resolve()
properties = torch.musa.get_device_properties(0)

mcc_flags = [
    "-DNDEBUG",
    "-DSCALE=2",
    "-O3",
    "-fPIC",
    "-std=c++17",
    f"--cuda-gpu-arch=mp_{properties.major}{properties.minor}",
    "-x",
    "musa",
    "-mtgpu",
    "-Od3",
    "-ffast-math",
    "-fmusa-flush-denormals-to-zero",
    "-fno-strict-aliasing",
    "-DUSE_MUSA",
]

setup(
    name="mixed",
    ext_modules=[
        CUDAExtension(
            name="mixed",
            sources=["csrc/binding.cc", "csrc/add.cu", "csrc/musa/scale.mu"],
            include_dirs=[root / "include"],
            extra_compile_args={"mcc": mcc_flags, "cxx": ["force_mcc"], "typo": ["-DLOST=1"]},
            libraries=["c10", "torch", "torch_python"],
            extra_link_args=["-Wl,-rpath,$ORIGIN/../../torch/lib"],
            py_limited_api=False,
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=True)},
)
