"""Builds extensions for MUSA: `MUSAExtension` and `BuildExtension` for a setup.py, `load` and `load_inline` at run time.

The names, flags and limits are the real package's. In particular `.cu` sources are not recognised, `extra_compile_args` of a
`MUSAExtension` has to be a dict, and PYTORCH_MCC is read only in builds by ninja. The parts shared with PyTorch's own builder
(ninja, the versions of modules built at run time, the build folder) come from PyTorch.
"""

# ruff: noqa: F401  the names of the real module; programs call private ones too
from __future__ import annotations

import os
from typing import Any

from . import _paths
from ._flags import (
    COMMON_MCC_FLAGS,
    _abi_flags,
    _get_cpu_arch,
    _get_musa_arch_flags,
    _is_musa_file,
)
from ._jit import (
    JIT_EXTENSION_VERSIONER,
    _get_build_directory,
    _jit_compile,
    _prepare_ldflags,
    _write_ninja_file_and_build_library,
    _write_ninja_file_to_build_library,
    load,
    load_inline,
)
from ._ninja import _maybe_write, _write_ninja_file, _write_ninja_file_and_compile_objects
from ._paths import (
    _TORCH_PATH,
    TORCH_LIB_PATH,
    TORCH_MUSA_LIB_PATH,
    _find_musa_home,
    _get_mcc_compiler,
    _join_musa_home,
    get_cxx_compiler,
    include_paths,
    library_paths,
)
from ._setup import BuildExtension, MUSAExtension

os.environ.setdefault("MAX_JOBS", str(os.cpu_count() or 1))

SUBPROCESS_DECODE_ARGS = ()
RERUN_CMAKE = False
install_requires = ["packaging"]


def __getattr__(name: str) -> Any:
    """Find MUSA_HOME and MUDNN_HOME on first use, because the simulated toolkit may have to be built."""
    if name == "MUSA_HOME":
        value = _find_musa_home()
    elif name == "MUDNN_HOME":
        value = os.environ.get("MUDNN_HOME") or os.environ.get("MUDNN_PATH")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
