from setuptools import find_packages, setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="without_ninja",
    packages=find_packages(),
    ext_modules=[
        CUDAExtension(
            name="without_ninja",
            sources=["csrc/host.cpp", "csrc/kernel.cu"],
            extra_compile_args={"nvcc": ["-O2", "--expt-extended-lambda"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False, no_python_abi_suffix=True)},
)
