import os

from setuptools import find_packages, setup
from torch.utils import cpp_extension

sources = os.path.join("src", "package", "csrc")
flags = {"cxx": ["-O2"], "nvcc": ["-O2", "-rdc=true", "--default-stream=per-thread"]}

setup(
    packages=find_packages("src"),
    package_dir={"": "src"},
    ext_modules=[
        cpp_extension.CUDAExtension("package._C", [f"{sources}/first.cu"], extra_compile_args=flags),
        cpp_extension.CUDAExtension("package._second", [f"{sources}/second.cu"]),
    ],
    cmdclass={"build_ext": cpp_extension.BuildExtension},
)
