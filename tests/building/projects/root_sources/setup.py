from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="root_sources",
    ext_modules=[
        CUDAExtension("root_sources", ["kernel.cu"], extra_compile_args=["-O2", "--use_fast_math", "-lineinfo"])
    ],
    cmdclass={"build_ext": BuildExtension},
)
