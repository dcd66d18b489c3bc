"""The parts of torch_musa that follow torch.cuda name by name."""

# ruff: noqa: F401

from __future__ import annotations

import os.path as _osp

from .. import _MUSAC
from . import (
    _lazy_init,
    _mublas,
    _rng_grids,
    _utils,
    amp,
    device,
    mccl,
    memory,
    module_attrs,
    mudnn,
    musa,
    process_group,
    random,
    reductions,
    serialization,
    storage,
    stream,
    tensor_attrs,
)
from ._lazy_init import _lazy_init as _lazy_init_musa

__all__ = ["cmake_prefix_path", "current_blas_handle", "current_blaslt_handle"]

cmake_prefix_path = _osp.join(_osp.dirname(_osp.dirname(__file__)), "share", "cmake")


def current_blas_handle() -> int:
    """The mublas handle of the current stream, as an int."""
    _lazy_init_musa()
    return int(_MUSAC._musa_getCurrentBlasHandle())


def current_blaslt_handle() -> int:
    """The mublasLt handle of the current stream, as an int."""
    _lazy_init_musa()
    return int(_MUSAC._musa_getCurrentBlasLtHandle())
