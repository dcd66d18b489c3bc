"""A BuildExtension of its own that adds flags at the last moment, and a setup that changes torch's list of them."""

import torch.utils.cpp_extension as cpp_extension
from setuptools import setup

for flag in ("-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__"):
    cpp_extension.COMMON_NVCC_FLAGS.remove(flag)


class Build(cpp_extension.BuildExtension):
    def build_extensions(self):
        for extension in self.extensions:
            extension.extra_compile_args["nvcc"] += ["-DOFFSET=1.0f", "-Xptxas", "-v"]
        super().build_extensions()

    def build_extension(self, ext):
        assert self.compiler is not None
        super().build_extension(ext)


setup(
    name="subclassed",
    ext_modules=[
        cpp_extension.CUDAExtension(
            "subclassed", ["csrc/kernel.cu"], extra_compile_args={"cxx": [], "nvcc": []}, include_dirs=["csrc/include"]
        )
    ],
    cmdclass={"build_ext": Build},
)
