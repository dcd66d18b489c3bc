"""No kernel and no nvcc: C++ that uses CUDA's runtime, as a CppExtension with its library and folders."""

import os

from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension

setup(
    name="host_only",
    ext_modules=[
        CppExtension(
            "host_only",
            ["host.cpp"],
            include_dirs=[os.path.join(CUDA_HOME, "include")],
            library_dirs=[os.path.join(CUDA_HOME, "lib64")],
            libraries=["cudart"],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
