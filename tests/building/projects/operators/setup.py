import glob
import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

here = os.path.dirname(os.path.abspath(__file__))
sources = glob.glob(os.path.join("csrc", "*.cpp")) + glob.glob(os.path.join("csrc", "cuda", "*.cu"))

setup(
    name="operators",
    ext_modules=[
        CUDAExtension("operators._C", sources, extra_compile_args={"cxx": ["-O0"], "nvcc": ["-O1"]}),
    ],
    packages=["operators"],
    cmdclass={"build_ext": BuildExtension},
)
