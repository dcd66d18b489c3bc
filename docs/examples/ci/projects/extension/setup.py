from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="saxpy",
    version="1.0",
    ext_modules=[CUDAExtension("saxpy", ["saxpy.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
