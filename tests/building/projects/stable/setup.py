"""Operators by PyTorch's stable ABI, built as vllm-musa builds its vllm._C_stable_libtorch."""

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

from torchada.utils.cpp_extension import stable_compat_box_header as _ta_stable_box
from torchada.utils.cpp_extension import stable_compat_include_dir as _ta_stable_inc

MCC_FLAGS = ["-DNDEBUG", "-O3", "-fPIC", "-std=c++20", "-x", "musa", "-mtgpu", "-fno-strict-aliasing", "-DUSE_MUSA"]
CXX_FLAGS = ["force_mcc"]
_STABLE_BOX_HEADER = _ta_stable_box()

setup(
    name="stable",
    ext_modules=[
        CUDAExtension(
            name="stable",
            sources=["operators.cu", "bindings.cpp"],
            include_dirs=[".", _ta_stable_inc()],
            extra_compile_args={
                "mcc": [*MCC_FLAGS, "-DCUDA_VERSION=0", "-include", _STABLE_BOX_HEADER],
                "cxx": [*CXX_FLAGS, "-include", _STABLE_BOX_HEADER],
            },
            libraries=["c10", "torch", "torch_python", "musart", "torch_cpu", "cublas"],
            py_limited_api=False,
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
