from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(name="encodings", ext_modules=[CUDAExtension("encodings", ["kernel.cu"])], cmdclass={"build_ext": BuildExtension})
