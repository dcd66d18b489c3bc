"""Names in torch_musa's and torchada's tables that the porter deliberately leaves or translates differently."""

from __future__ import annotations

_ORDINARY = "an ordinary word, or a parameter's name; it means CUDA only in some places, which `contexts` recognises"
_GUARD = "the include guard or an inner macro of one of the toolkit's own headers, which no project ports"
_LAPACK = "the letters cu belong to LAPACK's name (complex, unitary): the table's rule matches them by chance"
_VERSIONED = "cublas_v2.h calls it so without the suffix, which muBLAS is not known to have"
_GGML = "ggml builds on hardware with another name (vendors/musa.h)"

DIFFERENT: dict[str, str] = {
    **dict.fromkeys(
        ("cuda", "cu", "cubin", "cubinCrc", "cubinOut", "cubinSize", "fatCubin", "fatCubinHandle"), _ORDINARY
    ),
    **dict.fromkeys(("pCubin", "funcComputeCubinCrc", "nvlinkVersion", "nvswitchConnected"), _ORDINARY),
    **dict.fromkeys(("physicalNvLinkCount", "nCutoffValue", "HGPUNV", "WGL_NV_gpu_affinity"), _ORDINARY),
    **dict.fromkeys(("NVBLAS_H_", "__NV_GLIBCXX_VERSION", "__NV_LIBCXX_FUNCTIONAL_H__", "__OPENMP_NVPTX__"), _GUARD),
    **{
        f"cusolverDnC{name}{end}": _LAPACK
        for name in ("ungbr", "ungqr", "ungtr", "unmqr", "unmtr")
        for end in ("", "_bufferSize")
    },
    "nppsCubrt_32f": _LAPACK,
    **dict.fromkeys(("cublasComputeType_t", "CUBLAS_COMPUTE_16F", "CUBLAS_COMPUTE_32F"), _GGML),
    **dict.fromkeys(
        ("CUBLAS_COMPUTE_32I", "CUBLAS_COMPUTE_64F"), "muBLAS takes a type of number here, as ggml's other two say"
    ),
    **dict.fromkeys(
        map("cublas{}_v2".format, ("Create", "Destroy", "SetStream", "GetStream", "SetWorkspace")), _VERSIONED
    ),
    **dict.fromkeys(map("cublas{}_v2".format, ("SetPointerMode", "GetPointerMode", "Sgemm", "Dgemm")), _VERSIONED),
    **dict.fromkeys(("CUBLAS_GEMM_DEFAULT_TENSOR_OP", "CUBLAS_TF32_TENSOR_OP_MATH"), _GGML),
    "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED": _GGML,
    **dict.fromkeys(("CUDA_KERNEL_LOOP", "CUDA_NUM_THREADS"), "ATen/musa/detail/KernelUtils.h has CUDA's names"),
    "CUDA_VERSION": "the table's MUSA_COMP_VERSION is defined by torch_musa's own build only; MUSA_VERSION by musa.h",
}
# torch_musa's tool replaces these once more after its tables, or the tables name the same file by a longer path.
HEADERS = (
    "ATen/cuda/Atomic.cuh",
    "ATen/cuda/CUDADataType.h",
    "ATen/cuda/CUDAGeneratorImpl.h",
    "ATen/cuda/CUDAUtils.h",
    "c10/cuda/CUDACachingAllocator.h",
    "c10/cuda/CUDAFunctions.h",
    # The tables lead them to c10's, because torch 2.7.1 has no others; the stable ABI of newer torch refuses those.
    *(f"torch/headeronly/util/{name}.h" for name in ("BFloat16", "Float8_e4m3fn", "Float8_e4m3fnuz", "Half")),
)
PREFIXES = {
    "NV_NPP": _GUARD,
    "__UNDEF_CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS_NV_": _GUARD,
}


def is_deliberate(name: str) -> bool:
    return name in DIFFERENT or name.startswith(tuple(PREFIXES))
