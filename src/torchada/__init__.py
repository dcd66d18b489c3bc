"""torchada: unchanged CUDA PyTorch code runs on Moore Threads (MUSA) GPUs.

Installing the package is all that is needed: a start-up file puts the import hook in place. Importing it does the same for a
process in which that file was not read, also after torch has been imported. Importing torchada never imports torch.
"""

from __future__ import annotations

from _torchada_startup import install as _install

__version__ = "0.2.0"

# Public name -> module that defines it (PEP 562): a process that uses none of them pays for none of them.
_LAZY = {
    "disable": "torchada.control",
    "disabled": "torchada.control",
    "enable": "torchada.control",
    "is_patched": "torchada.control",
    "Platform": "torchada.platforms",
    "detect_platform": "torchada.platforms",
    "get_backend": "torchada.platforms",
    "get_device_name": "torchada.platforms",
    "get_platform": "torchada.platforms",
    "get_version": "torchada.platforms",
    "is_cpu_platform": "torchada.platforms",
    "is_cuda_platform": "torchada.platforms",
    "is_gpu_device": "torchada.platforms",
    "is_musa_platform": "torchada.platforms",
    "get_torch_device_module": "torchada.platforms",
    "is_cuda_like_device": "torchada.platforms",
    "cublas_to_mublas_name": "torchada.names",
    "cuda_to_musa_name": "torchada.names",
    "curand_to_murand_name": "torchada.names",
    "nccl_to_mccl_name": "torchada.names",
    "UnsupportedError": "torchada.redirect.unsupported",
    "TorchadaWarning": "torchada._warnings",
    "TorchadaError": "torchada._warnings",
}

# Asked of torch, which is imported for it, and asked anew each time.
_OF_TORCH = {"CUDA_HOME": "torchada.utils.cpp_extension"}

__all__ = ["__version__", *sorted(_LAZY)]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _OF_TORCH:
        return getattr(import_module(_OF_TORCH[name]), name)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_OF_TORCH})


_install()
