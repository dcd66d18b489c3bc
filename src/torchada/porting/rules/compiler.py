"""What nvcc defines: __CUDACC__, __CUDA_NO_HALF_OPERATORS__. Comparisons of versions are in `torchada.porting.versions`."""

from torchada.porting.rules.library import Library

_CLUSTERS = "thread block clusters came with sm_90; MUSA is not known to have them"

COMPILER = Library(
    "compiler and device language",
    names=(
        r"_{2,3}CUDA(?:CC|BE|DEVRT|RT)?_\w*",
        r"__CLANG_+CUDA_\w+",
        r"__UNDEF_CUDA_\w+",
        r"_CUDA_(?:AWBARRIER|PIPELINE|LIB_XT_H)\w*",
        r"_LIBCUDACXX_\w+",
        r"CUDA_(?:API_PER_THREAD_DEFAULT_STREAM|ENABLE_DEPRECATED|FORCE_API_VERSION|IPC_HANDLE_SIZE|OCC_\w+|XT_DESCRIPTOR_VERSION)",
        r"CUDA_GRAPH_INSTANTIATE_\w+|CUDALIBMG_\w+|MAX_CUDA_DESCRIPTOR_GPUS",
        r"DISABLE_CU(?:SOLVER|SPARSE)_DEPRECATED|LIB_FORMAT_CUFFT|MAX_CUFFT_ERROR|_CUFFT\w+",
    ),
    words={
        # mcc announces itself by __MUSACC__; nvcc defines both. What asks for nvcc's version as well is left (`by_context`).
        "__NVCC__": "__MUSACC__",
        "__NV_ALIGNOF": "__MT_ALIGNOF",
        "__NV_ATTR_UNUSED_FOR_LAUNCH": "__MT_ATTR_UNUSED_FOR_LAUNCH",
        "__NV_CONSTEXPR": "__MT_CONSTEXPR",
        "__NV_NOEXCEPT": "__MT_NOEXCEPT",
        "__NV_NO_HOST_COMPILER_CHECK": "__MT_NO_HOST_COMPILER_CHECK",
    },
    absent={
        r"__CUDA_ARCH_(?:FEAT|SPECIFIC|FAMILY_SPECIFIC)\w*|__CUDA_ARCH_(?:FEAT|LIST)_?\w*": "a feature of some of NVIDIA's chips",
        r"__cluster(?:_\w+|(?:Dim|GridDim|Idx|RelativeBlock|Size)\w*)": _CLUSTERS,
        r"__maxnreg__": "mcc is not known to take a limit of registers here",
        r"__grid_constant__": "mcc is not known to have parameters in constant memory",
        r"__nv_tma\w*": "the TMA of sm_90",
        r"__barrier_sync(?:_count)?": "a barrier by number; that of the whole block is __syncthreads()",
    },
    unlike={
        r"__CUDACC_VER_\w+": "mcc counts its versions otherwise than nvcc; look at what is compared",
        r"(?:CU(?:BLAS|DNN|SPARSE|FFT|RAND|SOLVER|TLASS)|NCCL|NVRTC)_(?:VERSION|VER|MAJOR|MINOR|PATCHLEVEL)\w*": (
            "MUSA's library counts its versions otherwise; look at what is compared"
        ),
    },
)
