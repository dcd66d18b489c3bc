"""What build files say: libraries for the linker, suffixes, names of the compiler. Sources never say these."""

LINKED_LIBRARIES = {
    "cuda": "musa",
    "cudart": "musart",
    "cublas": "mublas",
    "cublasLt": "mublasLt",
    "cudnn": "mudnn",
    "cufft": "mufft",
    "cupti": "mupti",
    "curand": "murand",
    "cusolver": "musolver",
    "cusparse": "musparse",
    "nccl": "mccl",
    "nvjpeg": "mtjpeg",
    "nvrtc": "mtrtc",
}
SUFFIXES = {".cu": ".mu", ".cuh": ".muh"}
BUILD_NAMES = {
    "CUDAExtension": "MUSAExtension",
    "CUDA_HOME": "MUSA_HOME",
    "NVJPEG_FOUND": "MTJPEG_FOUND",
    "cuda_sources": "musa_sources",
    "extra_cuda_cflags": "extra_musa_cflags",
    "nvcc": "mcc",
    "nvcc_dlink": "mcc_dlink",
    "with_cuda": "with_musa",
}
