"""What PyTorch's C++ calls after CUDA: at::cuda::getCurrentCUDAStream, CUDAGuard, C10_CUDA_CHECK, kCUDA.

Macros that every build of PyTorch has (CUDA_KERNEL_ASSERT, TORCH_CUDA_CU_API, USE_CUDA) are not among them, and stay.
"""

from torchada.porting.rules.library import Library

_CSRC = "torch_musa/csrc"
_COMPATIBLE = "torch_musa/share/generated_cuda_compatible/include/ATen/musa"

TORCH = Library(
    "ATen and c10",
    names=(
        r"C10_CUDA_\w+",
        r"AT_CUDA_(?:DRIVER_|NVRTC_)?CHECK|TORCH_CUDABLAS_CHECK|TORCH_CU(?:SOLVER|SPARSE|DNN)_CHECK|TORCH_CUDASPARSE_CHECK",
        r"CUDA_(?:1D_|2D_)?KERNEL_LOOP(?:_TYPE)?|CUDA_NUM_THREADS|CUDABLAS_\w+_ARGTYPES",
        r"REGISTER_CUDA_DISPATCH|RegisterCUDADispatch",
        r"(?:Optional)?CUDA(?:Multi)?(?:Stream)?Guard",
        r"CUDA(?:Stream|Event|Graph|GeneratorImpl|GeneratorState|CachingAllocator|AllocatorConfig|DeviceIndex|PluggableAllocator)",
        r"CUDA(?:ApplyUtils|GraphsUtils|Loops|Hooks|HooksInterface|Allocator|Kernel_t|StreamCaptureModeGuard|PluggableAllocator)",
        r"SparseCUDAApplyUtils|PhiloxCudaState|philox_cuda_state",
        r"(?:get|set|is)(?:Current|Default)?CUDA(?:Stream|Blas|Sparse|SolverDn|Generator|Device)\w*",
        r"(?:aoti_)?torch_(?:get|set)_(?:current_)?cuda_(?:stream\w*|blas_handle)|torch_cuda_stream_synchronize",
    ),
    words={"kCUDA": "kPrivateUse1", "kSparseCUDA": "kSparsePrivateUse1"},
    absent={
        r"kDLCUDA\w+": "DLPack has no device type for MUSA's memory on the host; torch does not export such tensors"
    },
    headers={
        "ATen/cuda/CUDAContext.h": f"{_CSRC}/aten/musa/MUSAContext.h",
        "ATen/cuda/CUDADataType.h": f"{_CSRC}/aten/musa/MUSADtype.muh",
        "ATen/cuda/CUDAEvent.h": f"{_CSRC}/core/MUSAEvent.h",
        "ATen/cuda/CUDAGeneratorImpl.h": f"{_CSRC}/aten/musa/CUDAGeneratorImpl.h",
        "ATen/cuda/Exceptions.h": f"{_CSRC}/aten/musa/Exceptions.h",
        "ATen/cuda/detail/UnpackRaw.cuh": f"{_CSRC}/aten/musa/UnpackRaw.muh",
        "ATen/cuda/Atomic.cuh": f"{_COMPATIBLE}/Atomic.muh",
        "ATen/cuda/CUDAUtils.h": f"{_COMPATIBLE}/MUSAUtils.h",
        "c10/cuda/CUDAException.h": f"{_CSRC}/core/MUSAException.h",
        "c10/cuda/CUDAGuard.h": f"{_CSRC}/core/MUSAGuard.h",
        "c10/cuda/CUDAStream.h": f"{_CSRC}/core/MUSAStream.h",
        "THC/THCAtomics.cuh": "THC/THCAtomics.muh",
        "torch/cuda.h": "torch/musa.h",
        # torch_musa pairs with torch 2.7.1, which has them here; newer torch has them in both places.
        "torch/headeronly/util/BFloat16.h": "c10/util/BFloat16.h",
        "torch/headeronly/util/Float8_e4m3fn.h": "c10/util/Float8_e4m3fn.h",
        "torch/headeronly/util/Float8_e4m3fnuz.h": "c10/util/Float8_e4m3fnuz.h",
        "torch/headeronly/util/Half.h": "c10/util/Half.h",
    },
    header_names=(
        r"(?:ATen(?:/native)?/(?:sparse/|nested/|transformers/|quantized/)?|c10/)cuda/.+",
        r"CUDA(?:Config|DataType|Event|Functions_inl|Graph|Hooks|HooksInterface|Macros|MathCompat|Sparse|SparseBlas"
        r"|SparseDescriptors|Utils)\.h",
        r"ATenCUDAGeneral\.h",
    ),
)
