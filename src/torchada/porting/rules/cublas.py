"""cuBLAS and cuBLASLt: cublasSgemm, cublasLtMatmul, CUBLAS_OP_N."""

from torchada.porting.rules.library import Library

CUBLAS = Library(
    "cuBLAS and cuBLASLt",
    names=(r"cublas[A-Z]\w*", r"CUBLAS\w*"),
    spellings={"cublas": "mublas", "CUBLAS": "MUBLAS"},
    words={
        # torch_musa's own sources use this enumerator; NOT_SUPPORTED is in its table of names only.
        "CUBLAS_STATUS_NOT_SUPPORTED": "MUBLAS_STATUS_NOT_IMPLEMENTED",
    },
    headers={"cublas_v2.h": "mublas.h", "nvblas.h": "mtblas.h"},
    header_names=(r"cublas(?:|Lt|Xt|_api)\.h",),
)
