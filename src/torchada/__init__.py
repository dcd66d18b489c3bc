"""torchada: unchanged CUDA PyTorch code runs on Moore Threads (MUSA) GPUs.

Installing the package is all that is needed: a start-up file puts the import hook in place. Importing it does the same for a
process in which that file was not read, also after torch has been imported. Importing torchada never imports torch.

PYTEST_DONT_REWRITE: pytest would warn in every run that this module was imported before it.
"""

from __future__ import annotations

from _torchada_startup import install as _install
from _torchada_startup import leave_instruments_out as _leave_instruments_out

TYPE_CHECKING = False  # importing typing would cost more than this package does
if TYPE_CHECKING:
    from torchada import cuda as cuda
    from torchada import triton as triton
    from torchada import utils as utils
    from torchada.areas.libraries._irfft import musa_irfft_graph as musa_irfft_graph
    from torchada.areas.libraries._rope import apply_rope_inplace as apply_rope_inplace
    from torchada.base.version import __version__ as __version__
    from torchada.base.warnings import TorchadaError as TorchadaError
    from torchada.base.warnings import TorchadaWarning as TorchadaWarning
    from torchada.compat.legacy import apply_patches as apply_patches
    from torchada.compat.legacy import get_original_init_process_group as get_original_init_process_group
    from torchada.compat.symbols import cublas_to_mublas_name as cublas_to_mublas_name
    from torchada.compat.symbols import cuda_to_musa_name as cuda_to_musa_name
    from torchada.compat.symbols import curand_to_murand_name as curand_to_murand_name
    from torchada.compat.symbols import nccl_to_mccl_name as nccl_to_mccl_name
    from torchada.control.platforms import Platform as Platform
    from torchada.control.platforms import detect_platform as detect_platform
    from torchada.control.platforms import get_backend as get_backend
    from torchada.control.platforms import get_device_name as get_device_name
    from torchada.control.platforms import get_device_type as get_device_type
    from torchada.control.platforms import get_platform as get_platform
    from torchada.control.platforms import get_torch_device_module as get_torch_device_module
    from torchada.control.platforms import get_version as get_version
    from torchada.control.platforms import is_cpu_platform as is_cpu_platform
    from torchada.control.platforms import is_cuda_like_device as is_cuda_like_device
    from torchada.control.platforms import is_cuda_platform as is_cuda_platform
    from torchada.control.platforms import is_gpu_device as is_gpu_device
    from torchada.control.platforms import is_musa_platform as is_musa_platform
    from torchada.control.switch import disable as disable
    from torchada.control.switch import disabled as disabled
    from torchada.control.switch import enable as enable
    from torchada.control.switch import is_patched as is_patched
    from torchada.control.switch import set_view as set_view
    from torchada.redirect.unsupported import UnsupportedError as UnsupportedError
    from torchada.utils.cpp_extension import CUDA_HOME as CUDA_HOME

# The same at run time (PEP 562), loaded name by name: a process that uses none of them pays for none of them.
_LAZY = {
    "__version__": "torchada.base.version",
    "disable": "torchada.control.switch",
    "disabled": "torchada.control.switch",
    "enable": "torchada.control.switch",
    "is_patched": "torchada.control.switch",
    "set_view": "torchada.control.switch",
    "Platform": "torchada.control.platforms",
    "detect_platform": "torchada.control.platforms",
    "get_backend": "torchada.control.platforms",
    "get_device_name": "torchada.control.platforms",
    "get_device_type": "torchada.control.platforms",
    "get_platform": "torchada.control.platforms",
    "get_version": "torchada.control.platforms",
    "is_cpu_platform": "torchada.control.platforms",
    "is_cuda_platform": "torchada.control.platforms",
    "is_gpu_device": "torchada.control.platforms",
    "is_musa_platform": "torchada.control.platforms",
    "get_torch_device_module": "torchada.control.platforms",
    "is_cuda_like_device": "torchada.control.platforms",
    "cublas_to_mublas_name": "torchada.compat.symbols",
    "cuda_to_musa_name": "torchada.compat.symbols",
    "curand_to_murand_name": "torchada.compat.symbols",
    "nccl_to_mccl_name": "torchada.compat.symbols",
    "apply_patches": "torchada.compat.legacy",
    "apply_rope_inplace": "torchada.areas.libraries._rope",
    "musa_irfft_graph": "torchada.areas.libraries._irfft",
    "get_original_init_process_group": "torchada.compat.legacy",
    "cuda": "torchada",
    "triton": "torchada",
    "utils": "torchada",
    "UnsupportedError": "torchada.redirect.unsupported",
    "TorchadaWarning": "torchada.base.warnings",
    "TorchadaError": "torchada.base.warnings",
}

# Computed from torch, which is imported for it, at each access. Not in __all__: a star import must not import torch.
_OF_TORCH = {"CUDA_HOME": "torchada.utils.cpp_extension"}

__all__ = sorted(_LAZY)


def _resolve(name: str) -> object:
    from importlib import import_module

    if name in _OF_TORCH:
        return getattr(import_module(_OF_TORCH[name]), name)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _leave_instruments_out()  # their hooks may have come after ours
    if _LAZY[name] == __name__:  # a module of this package
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a type checker would take every unknown name for an object
    __getattr__ = _resolve


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_OF_TORCH})


_install()
