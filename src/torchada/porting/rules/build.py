"""What build files say: libraries for the linker, and suffixes. Sources never say these."""

LINKED_LIBRARIES = {
    "cuda": "musa",
    "cudart": "musart",
    "cublas": "mublas",
    "cublasLt": "mublasLt",
    "cudnn": "mudnn",
    "cufft": "mufft",
    "cufile": "mufile",
    "cupti": "mupti",
    "curand": "murand",
    "cusolver": "musolver",
    "cusparse": "musparse",
    "nccl": "mccl",
    "nvjpeg": "mtjpeg",
    "nvrtc": "mtrtc",
}
SUFFIXES = {".cu": ".mu", ".cuh": ".muh"}
