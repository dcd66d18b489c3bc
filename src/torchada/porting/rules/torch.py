"""What PyTorch's C++ calls after CUDA: at::cuda::getCurrentCUDAStream, CUDAGuard, C10_CUDA_CHECK, kCUDA.

Macros that every build of PyTorch has (CUDA_KERNEL_ASSERT, TORCH_CUDA_CU_API, USE_CUDA) are not among them, and stay. So do names
that have CUDA's spelling in torch_musa's headers too: CUDA_KERNEL_LOOP, getCudaDataType, getCurrentCUDASparseHandle.
"""

from torchada.porting.rules.library import Library

_CSRC = "torch_musa/csrc"
OF_DEVICES = f"{_CSRC}/core/MUSAFunctions.h"
OF_GUARDS = f"{_CSRC}/core/MUSAGuard.h"
OF_GENERATORS = f"{_CSRC}/aten/musa/MUSAGeneratorImpl.h"
_IS_THERE = "(c10::musa::device_count() > 0)"
# What PyTorch's C++ has for a program to ask about CUDA, and torch_musa has by other names or not at all: torch::cuda's functions,
# with whether the call's empty brackets belong to it.
ASKED_OF_CUDA = {
    "is_available": (_IS_THERE, True),
    "device_count": ("c10::musa::device_count", False),
    "synchronize": ("c10::musa::device_synchronize()", True),
}
# The same for those that take arguments: what is called in their place, and the header that has what it names.
_SEEDED = "{{ std::lock_guard<std::mutex> lock({0}.mutex()); {0}.set_current_seed(seed); }}"
CALLED_WITH_ARGUMENTS = {
    "manual_seed": (
        f"([](uint64_t seed) {{ auto own = at::musa::detail::getDefaultMUSAGenerator(); {_SEEDED.format('own')} }})",
        OF_GENERATORS,
    ),
    "manual_seed_all": (
        "([](uint64_t seed) { int all = 0; (void)musaGetDeviceCount(&all); for (int at = 0; at < all; ++at) "
        f"{{ auto own = at::musa::detail::getDefaultMUSAGenerator(at); {_SEEDED.format('own')} }} }})",
        OF_GENERATORS,
    ),
    "synchronize": (
        "([](int64_t device) { c10::musa::OptionalMUSAGuard on; if (device >= 0) on.set_index(device); "
        "c10::musa::device_synchronize(); })",
        OF_GUARDS,
    ),
}
HAS_CUDA = _IS_THERE
_ATEN = {
    "CUDABlas.h": "aten/musa/MUSABlas.h",
    "CUDAContext.h": "aten/musa/MUSAContext.h",
    "CUDAContextLight.h": "aten/musa/MUSAContextLight.h",
    "CUDADevice.h": "core/Device.h",
    "CUDAEvent.h": "core/MUSAEvent.h",
    "CUDAGeneratorImpl.h": "aten/musa/MUSAGeneratorImpl.h",
    "CUDAGraph.h": "aten/musa/MUSAGraph.h",
    "CachingHostAllocator.h": "core/CachingHostAllocator.h",
    "Exceptions.h": "aten/musa/Exceptions.h",
    "PinnedMemoryAllocator.h": "core/PinnedMemoryAllocator.h",
    "detail/PhiloxCudaStateRaw.cuh": "aten/musa/PhiloxMusaStateRaw.muh",
    "detail/UnpackRaw.cuh": "aten/musa/UnpackRaw.muh",
}
_C10 = {
    "CUDACachingAllocator.h": "MUSACachingAllocator.h",
    "CUDADeviceAssertionHost.h": "MUSADeviceAssertionHost.h",
    "CUDAException.h": "MUSAException.h",
    "CUDAFunctions.h": "MUSAFunctions.h",
    "CUDAGraphsC10Utils.h": "MUSAGraphsC10Utils.h",
    "CUDAGuard.h": "MUSAGuard.h",
    "CUDAMiscFunctions.h": "MUSAMiscFunctions.h",
    "CUDAStream.h": "MUSAStream.h",
    "impl/CUDAGuardImpl.h": "GuardImpl.h",
}

TORCH = Library(
    "ATen and c10",
    names=(
        r"C10_CUDA_\w+",
        r"AT_CUDA_(?:DRIVER_|NVRTC_)?CHECK|TORCH_CUDABLAS_CHECK|TORCH_CU(?:SOLVER|SPARSE|DNN)_CHECK|TORCH_CUDASPARSE_CHECK",
        r"CUDA_(?:1D_|2D_)KERNEL_LOOP(?:_TYPE)?|CUDABLAS_\w+_ARGTYPES",
        r"REGISTER_CUDA_DISPATCH|RegisterCUDADispatch",
        r"(?:Optional)?CUDA(?:Multi)?(?:Stream)?Guard",
        r"CUDA(?:Stream|Event|Graph|GeneratorImpl|GeneratorState|CachingAllocator|AllocatorConfig|DeviceIndex|PluggableAllocator)",
        r"CUDA(?:ApplyUtils|GraphsUtils|Loops|Hooks|HooksInterface|Allocator|Kernel_t|StreamCaptureModeGuard|PluggableAllocator)",
        r"SparseCUDAApplyUtils|PhiloxCudaState|philox_cuda_state",
        r"(?:get|set|is)(?:Current|Default)?CUDA(?:Stream|Blas|SolverDn|Generator|Device)\w*",
        r"(?:aoti_)?torch_(?:get|set)_(?:current_)?cuda_(?:stream\w*|blas_handle)|torch_cuda_stream_synchronize",
    ),
    words={"kCUDA": "kPrivateUse1", "kSparseCUDA": "kSparsePrivateUse1"},
    absent={
        r"kDLCUDA\w+": "DLPack has no device type for MUSA's memory on the host; torch does not export such tensors"
    },
    headers={
        # What torch_musa has written anew is included from its sources, as torch_musa's own tool does it: the header that the tool
        # makes of CUDA's declares the same again. It does not do it for events and graphs: its headers have CUDAEvent, CUDAGraph.
        **{f"ATen/cuda/{cuda}": f"{_CSRC}/{musa}" for cuda, musa in _ATEN.items()},
        **{f"c10/cuda/{cuda}": f"{_CSRC}/core/{musa}" for cuda, musa in _C10.items()},
        # The tool leaves these names.
        "ATen/cuda/PhiloxCudaState.h": "ATen/musa/PhiloxCudaState.h",
        "ATen/cuda/detail/LazyNVRTC.h": "ATen/musa/detail/LazyNVRTC.h",
        "ATen/native/cuda/cuBlasCommonArgs.h": "ATen/native/musa/cuBlasCommonArgs.h",
        "ATen/native/cuda/cutlass_common.cuh": "ATen/native/musa/cutlass_common.muh",
        "THC/THCAtomics.cuh": "THC/THCAtomics.muh",
        "THC/THCDeviceUtils.cuh": "THC/THCDeviceUtils.muh",
        "torch/cuda.h": OF_DEVICES,
        "torch/csrc/cuda/memory_snapshot.h": f"{_CSRC}/core/memory_snapshot.h",
    },
    header_names=(
        r"(?:ATen(?:/native)?/(?:sparse/|nested/|transformers/|quantized/)?|c10/)cuda/.+",
        r"CUDA(?:Config|DataType|Event|Functions_inl|Graph|Hooks|HooksInterface|Macros|MathCompat|Sparse|SparseBlas"
        r"|SparseDescriptors|Utils)\.h",
        r"ATenCUDAGeneral\.h",
    ),
)
