"""Sources by relative and by absolute path, by a link, and headers beside the project."""

import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

here = os.path.dirname(os.path.abspath(__file__))

setup(
    name="outside",
    ext_modules=[
        CUDAExtension(
            "outside",
            [
                "kernels/kernel.cu",
                "kernels/linked.cu",
                os.path.join(here, "..", "elsewhere", "host.cpp"),
            ],
            include_dirs=[os.path.join(here, "../shared")],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
