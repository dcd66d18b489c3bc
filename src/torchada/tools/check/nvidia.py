"""Packages and programs that work on NVIDIA's devices alone, and what to do where a project needs one.

Names of packages are importable ones; `DISTRIBUTIONS` has the names for pip and conda that differ from them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torchada.report.explanations import address
from torchada.report.severity import ERROR, NOTE, WARNING


class Need(NamedTuple):
    """How much it matters that a project needs a package, and what to do."""

    severity: str
    advice: str


_ARRAYS = "its arrays live on NVIDIA's devices; use tensors of PyTorch"
_RAPIDS = "it is a part of RAPIDS, which runs on NVIDIA's devices alone"
_TENSORRT = "it runs on NVIDIA's devices alone; run the model in PyTorch, or use the vendor's inference engine"
_PYTHON = "it binds CUDA's own C libraries; torch.cuda answers most of what is asked through it"
_KERNELS = "it brings kernels for NVIDIA's devices"
_BUILD = f"it brings CUDA sources: build it from source where MUSA's toolkit is installed ({address('how-to/extensions.md')})"

PACKAGES = {
    "apex": Need(WARNING, f"{_BUILD}; torch.amp and PyTorch's own layers do without it"),
    "auto_gptq": Need(WARNING, f"{_KERNELS}; without them it uses plain PyTorch"),
    "awq_ext": Need(ERROR, _KERNELS),
    "bitsandbytes": Need(WARNING, f"{_KERNELS}; without them it uses plain PyTorch, slowly, and not for all of it"),
    "cuda": Need(ERROR, _PYTHON),
    "cudnn": Need(ERROR, "it is the front end of cuDNN, which runs on NVIDIA's devices alone"),
    "cudf": Need(ERROR, _RAPIDS),
    "cugraph": Need(ERROR, _RAPIDS),
    "cuml": Need(ERROR, _RAPIDS),
    "cupy": Need(ERROR, _ARRAYS),
    "cupyx": Need(ERROR, _ARRAYS),
    "cutlass": Need(ERROR, "it generates kernels for NVIDIA's devices; the vendor has a CUTLASS of its own, mutlass"),
    "dask_cuda": Need(ERROR, _RAPIDS),
    "deep_gemm": Need(ERROR, f"{_KERNELS}, compiled as they are needed"),
    "exllamav2": Need(WARNING, _BUILD),
    "flash_attn": Need(
        WARNING, f"{_KERNELS}; where Moore Threads' flash_attn_interface is installed, torchada lets it answer for it"
    ),
    "flash_attn_3": Need(WARNING, f"{_KERNELS} of one generation"),
    "flash_attn_interface": Need(NOTE, "Moore Threads publishes a package of this name"),
    "flashinfer": Need(ERROR, "it compiles sources that NVIDIA's compiler alone takes"),
    "jetson": Need(ERROR, "it is for NVIDIA's boards"),
    "kaolin": Need(WARNING, _BUILD),
    "nvdiffrast": Need(WARNING, _BUILD),
    "nvidia": Need(ERROR, "it is one of NVIDIA's own libraries"),
    "nvtx": Need(
        NOTE, "its ranges are shown by NVIDIA's tools alone; torch.cuda.nvtx records them with torch.profiler"
    ),
    "pycuda": Need(ERROR, _PYTHON),
    "pynvml": Need(WARNING, "it finds devices where the vendor's pymtml is installed (pip install mthreads-ml-py)"),
    "rmm": Need(ERROR, _RAPIDS),
    "tensorrt": Need(ERROR, _TENSORRT),
    "tensorrt_llm": Need(ERROR, _TENSORRT),
    "tinycudann": Need(WARNING, _BUILD),
    "torch_tensorrt": Need(ERROR, _TENSORRT),
    "torch2trt": Need(ERROR, _TENSORRT),
    "transformer_engine": Need(ERROR, f"{_KERNELS}, and needs cuDNN and cuBLASLt"),
    "triton": Need(
        NOTE, f"kernels need a Triton that compiles for MUSA, which is the vendor's ({address('how-to/triton.md')})"
    ),
    "xformers": Need(WARNING, f"{_KERNELS}; scaled_dot_product_attention of PyTorch does most of it"),
}
# Names for pip and conda that are not those of the package.
DISTRIBUTIONS = {
    "autoawq-kernels": "awq_ext",
    "nvidia-cudnn-frontend": "cudnn",
    "cuda-python": "cuda",
    "cuda-bindings": "cuda",
    "cuda-core": "cuda",
    "flashinfer-python": "flashinfer",
    "gpustat": "pynvml",
    "nvidia-ml-py": "pynvml",
    "nvidia-ml-py3": "pynvml",
    "py3nvml": "pynvml",
    "pytorch-triton": "triton",
    "rmm-cu12": "rmm",
    "torch-tensorrt": "torch_tensorrt",
}
# More names for pip and conda, by their form.
_PATTERNS = (
    (re.compile(r"nvidia[-_].+|libcu(blas|fft|rand|solver|sparse|dnn).*|libnccl.*"), PACKAGES["nvidia"]),
    (re.compile(r"cupy-cuda\d+\w*"), PACKAGES["cupy"]),
    (re.compile(r"(cudf|cuml|cugraph|cuspatial|dask-cuda|rmm|pylibraft|raft-dask)-cu\d+"), Need(ERROR, _RAPIDS)),
    (
        re.compile(r"(faiss-gpu|faiss-gpu-cu\d+)"),
        Need(ERROR, "it searches on NVIDIA's devices; faiss-cpu does without"),
    ),
    (re.compile(r"onnxruntime-gpu|onnxruntime-gpu-.*"), Need(ERROR, "onnxruntime does without NVIDIA's libraries")),
    (re.compile(r"(spconv|cumm)-cu\d+"), Need(ERROR, _KERNELS)),
    (re.compile(r"paddlepaddle-gpu.*"), Need(ERROR, "this build is for NVIDIA's devices; paddlepaddle does without")),
    (re.compile(r"tensorflow-gpu|jax-cuda.*|jaxlib-cuda.*"), Need(ERROR, "this build is for NVIDIA's devices alone")),
    (
        re.compile(r"pytorch-cuda|cudatoolkit(-dev)?|cuda-(toolkit|nvcc|cudart|runtime|libraries|cccl).*|cudnn|nccl"),
        Need(ERROR, "a toolkit of CUDA; the environment needs MUSA's, and the vendor's build of torch"),
    ),
)
# `from numba import cuda`: these are NVIDIA's devices within packages that are not.
MODULES = {
    "cuda.tile": Need(ERROR, "it compiles kernels for NVIDIA's devices alone; write them in Triton or PyTorch"),
    "numba.cuda": Need(ERROR, "numba compiles kernels for NVIDIA's devices alone; write them in Triton or PyTorch"),
    "jax.experimental.mosaic.gpu": Need(ERROR, "it generates kernels for NVIDIA's devices"),
}
PROGRAMS = {
    "nvidia-smi": Need(WARNING, "the vendor's program is mthreads-gmi, and prints other text"),
    "nvcc": Need(NOTE, "where MUSA's toolkit is installed, torchada gives builds a stand-in for it"),
    "nsys": Need(WARNING, "NVIDIA's profiler; torch.profiler records the device's kernels"),
    "ncu": Need(WARNING, "NVIDIA's profiler; torch.profiler records the device's kernels"),
    "nvprof": Need(WARNING, "NVIDIA's profiler; torch.profiler records the device's kernels"),
    "cuda-memcheck": Need(WARNING, "it is for NVIDIA's devices"),
    "compute-sanitizer": Need(WARNING, "it is for NVIDIA's devices"),
}
# A torch for NVIDIA's devices: a local version, or an index of such wheels.
CUDA_WHEEL = re.compile(r"\+cu\d{2,3}\b|/whl/(?:nightly/)?cu\d{2,3}\b|(?<![\w-])cu1[0-9]\d\b(?=/torch)")
CUDA_BUILD = Need(ERROR, "a build of torch for NVIDIA's devices; the environment needs the vendor's")
# NVIDIA's devices through other libraries.
PROVIDERS = {
    "CUDAExecutionProvider": "onnxruntime's provider for NVIDIA's devices; it falls back on CPUExecutionProvider",
    "TensorrtExecutionProvider": "onnxruntime's provider for NVIDIA's devices; it falls back on CPUExecutionProvider",
}
OF_OTHERS = re.compile(
    r"faiss\.(?:StandardGpuResources|GpuIndex\w*|GpuClonerOptions|GpuMultipleClonerOptions|index_cpu_to_\w*gpu\w*)"
)
OTHERS_ADVICE = {"faiss": "it searches on NVIDIA's devices; faiss-cpu does without"}
# Other libraries whose `.cuda` has nothing to do with PyTorch's.
OTHERS = frozenset(
    {
        "numba",
        "cupy",
        "cupyx",
        "pycuda",
        "jax",
        "jaxlib",
        "tensorflow",
        "tf",
        "paddle",
        "mxnet",
        "cuda",
        "cutlass",
        "taichi",
        "warp",
    }
)


def of_distribution(name: str) -> Need | None:
    """What is known of a distribution, by its name for pip or conda."""
    plain = re.sub(r"[-_.]+", "-", name).lower()
    package = DISTRIBUTIONS.get(plain, plain.replace("-", "_"))
    if package in PACKAGES and plain not in ("cuda", "cudnn", "cutlass", "jetson", "nvidia"):
        return PACKAGES[package]
    return next((need for pattern, need in _PATTERNS if pattern.fullmatch(plain)), None)


def of_module(path: str) -> Need | None:
    """What is known of a module that is imported, by its path."""
    for name, need in MODULES.items():
        if path == name or path.startswith(f"{name}."):
            return need
    return PACKAGES.get(path.partition(".")[0])
