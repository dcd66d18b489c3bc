from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="torch_headers",
    ext_modules=[
        CUDAExtension(
            "torch_headers",
            ["csrc/iterators.cu", "csrc/blocks.cu", "csrc/module.cpp"],
            # PyTorch's cub.cuh expects CUB in this namespace, which PyTorch's own build names so.
            extra_compile_args={"cxx": ["-O0", "-g0"], "nvcc": ["-O0", "-DCUB_WRAPPED_NAMESPACE=at_cuda_detail"]},
        ),
    ],
    cmdclass={"build_ext": BuildExtension},
)
