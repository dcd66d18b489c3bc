import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0;8.6+PTX"
here = os.path.dirname(os.path.abspath(__file__))

setup(
    name="flags",
    ext_modules=[
        CUDAExtension(
            "flags",
            ["src/kernel.cu", "src/host.cpp"],
            include_dirs=[os.path.join(here, "include")],
            define_macros=[("SYNCHRONIZE", "cudaDeviceSynchronize")],
            extra_compile_args={
                "cxx": ["-O1", "-DSCALE=2"],
                "nvcc": [
                    "-O3",
                    "-std=c++17",
                    "--use_fast_math",
                    "--expt-relaxed-constexpr",
                    "--expt-extended-lambda",
                    "--threads",
                    "4",
                    "--ptxas-options=-v",
                    "-Xptxas",
                    "-O3",
                    "--compiler-options",
                    "-Wall,-fno-strict-aliasing",
                    "-Xcompiler=-fPIC",
                    "-rdc=false",
                    "-maxrregcount=64",
                    "-ccbin=g++",
                    "-lineinfo",
                    "-gencode",
                    "arch=compute_80,code=sm_80",
                    "-gencode=arch=compute_90,code=compute_90",
                    "-U__CUDA_NO_HALF_OPERATORS__",
                    "-DSCALE=2",
                ],
            },
            libraries=["cuda", "nvrtc", "cublas"],
            extra_link_args=["-lcudart", "-Wl,--as-needed"],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
