"""cuBLAS and cuBLASLt: cublasSgemm, cublasLtMatmul, CUBLAS_OP_N."""

from torchada.porting.rules.library import Library

# cublas_v2.h calls them so without the suffix, and muBLAS has one version.
_VERSIONED = (
    "Create",
    "Destroy",
    "SetStream",
    "GetStream",
    "SetPointerMode",
    "GetPointerMode",
    "SetWorkspace",
    "Sgemm",
    "Dgemm",
)

CUBLAS = Library(
    "cuBLAS and cuBLASLt",
    names=(r"cublas[A-Z]\w*", r"CUBLAS\w*"),
    spellings={"cublas": "mublas", "CUBLAS": "MUBLAS"},
    words={
        # torch_musa's own sources use this enumerator; NOT_SUPPORTED is in its table of names only.
        "CUBLAS_STATUS_NOT_SUPPORTED": "MUBLAS_STATUS_NOT_IMPLEMENTED",
        # As ggml builds on hardware: muBLAS takes a type of number where cuBLAS takes a type of computation.
        "cublasComputeType_t": "musaDataType_t",
        "CUBLAS_COMPUTE_16F": "MUSA_R_16F",
        "CUBLAS_COMPUTE_32F": "MUSA_R_32F",
        "CUBLAS_COMPUTE_32I": "MUSA_R_32I",
        "CUBLAS_COMPUTE_64F": "MUSA_R_64F",
        "CUBLAS_GEMM_DEFAULT_TENSOR_OP": "MUBLAS_GEMM_DEFAULT",
        "CUBLAS_TF32_TENSOR_OP_MATH": "MUBLAS_TENSOR_OP_MATH",
        **{f"cublas{name}_v2": f"mublas{name}" for name in _VERSIONED},
    },
    absent={
        r"cublas[A-Z]\w*_64": "muBLAS is not known to have functions with sizes of 64 bits; the one without _64 takes them as int",
    },
    unlike={
        r"CUBLAS_COMPUTE_(?!(?:16F|32F|32I|64F)$)\w+": "muBLAS takes a type of number here, not one of computation",
    },
    headers={"cublas_v2.h": "mublas.h", "nvblas.h": "mtblas.h"},
    header_names=(r"cublas(?:|Lt|Xt|_api)\.h",),
    is_closed=True,
)
