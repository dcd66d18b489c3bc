"""Packages whose view is decided by hand, each with the reason.

A name with a dot stands for a part of a package, often one that another distribution brings; the rest of the package is decided by
itself.
docs/reference/views.md lists what was read to judge them.
"""

from __future__ import annotations

_NVIDIA = 'its "cuda" means NVIDIA\'s own binaries'
_PLUGIN = "its support of MUSA is in a plug-in"

# These see the backend.
BACKEND: dict[str, str] = {
    "auto_gptq": _NVIDIA,
    "awq": _NVIDIA,
    "bitsandbytes": f"{_NVIDIA}; without them it uses plain PyTorch",
    "cupy": _NVIDIA,
    "cupy_backends": _NVIDIA,
    "cupyx": _NVIDIA,
    "flash_attn": _NVIDIA,
    "flashinfer": 'its "cuda" means sources that NVIDIA\'s compiler alone takes',
    "onnxruntime": _NVIDIA,
    "optimum.quanto": "it compiles kernels for NVIDIA's chips where torch.version.cuda is set; without them it uses plain PyTorch",
    "quanto": "it compiles kernels for NVIDIA's chips; without them it uses plain PyTorch",
    "thinc": "its arrays on a GPU are CuPy's, whose \"cuda\" means NVIDIA's own binaries",
    "tilelang": "it compiles for NVIDIA's and AMD's chips, by their own compilers",
    "transformer_engine": _NVIDIA,
    "triton": "it chooses its driver by torch.cuda.is_available(), and that driver is NVIDIA's",
    "vllm": _PLUGIN,
    "xformers": _NVIDIA,
}
# These see CUDA: their sources mention MUSA, or their libraries need NVIDIA's, and they are used as CUDA code all the same.
CUDA: dict[str, str] = {
    "accelerate.launchers": "its launcher for notebooks asks about CUDA, and has no branch for MUSA",
    "lmdeploy": "its PyTorch engine has kernels for cuda, which are Triton's; TurboMind is used only if it can be imported",
    "torchao": "what its libraries bring for NVIDIA's chips is chosen by the compute capability; the rest is PyTorch's",
    "torchaudio": "its libraries for NVIDIA are loaded only by what needs them",
    "torchcodec": "a program asks for a decoder on the GPU by itself; nothing is chosen by what is available",
    "torchvision": "its operators are registered for CUDA, and have nothing to do with what it asks",
    "unsloth": "its launcher and its savers name MUSA, and its choice of a device has no branch for it",
}
PORTIONS = tuple(name for name in (*BACKEND, *CUDA) if "." in name)


def known(name: str) -> tuple[bool, str] | None:
    """Whether the package `name` sees CUDA, and why; None where it has no row."""
    if name in CUDA:
        return True, CUDA[name]
    return (False, BACKEND[name]) if name in BACKEND else None
