"""Where an extension finds headers, libraries and compilers."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from typing import Any

import torch

from .. import torch_musa

_TORCH_PATH = os.path.dirname(torch.__file__)
_TORCH_MUSA_PATH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TORCH_LIB_PATH = os.path.join(_TORCH_PATH, "lib")
# The real package has its libraries in its folder `lib`. Here they are compiled, so this is the folder that they are stored in.
TORCH_MUSA_LIB_PATH = os.path.dirname(torch_musa._MUSAC.__file__)


def _find_musa_home() -> str | None:
    """MUSA_HOME, MUSA_PATH, the mcc on the PATH, or /usr/local/musa; if none of them exists, the simulated toolkit."""
    chosen = os.environ.get("MUSA_HOME") or os.environ.get("MUSA_PATH")
    if chosen:
        return chosen
    compiler = shutil.which("mcc")
    if compiler is not None:
        return os.path.dirname(os.path.dirname(compiler))
    if os.path.exists("/usr/local/musa"):
        return "/usr/local/musa"
    from musasim.toolkit import home

    return str(home())


def _set_by_program() -> Any:
    """The public module: a program may set MUSA_HOME and MUDNN_HOME in it."""
    return import_module(f"{__package__}.musa_extension")


def _join_musa_home(*paths: str) -> str:
    home = _set_by_program().MUSA_HOME
    if home is None:
        raise OSError("MUSA_HOME environment variable is not set. Please set it to your MUSA install root.")
    return os.path.join(home, *paths)


def include_paths(musa: bool = False) -> list[str]:
    """The folders of headers that an extension needs; with `musa`, those of the toolkit too."""
    from musasim.base import torch_headers

    paths = ["/usr/local/musa/include", *_compatible_folders(_TORCH_MUSA_PATH), os.path.dirname(_TORCH_MUSA_PATH)]
    # The real package has a copy of all of PyTorch's headers with CUDA's names replaced. Here are those with such names...
    paths += torch_headers.folders()
    # ... and PyTorch's own.
    include = os.path.join(_TORCH_PATH, "include")
    paths += [include, os.path.join(include, "torch", "csrc", "api", "include")]
    if musa:
        paths.append(_join_musa_home("include"))
        mudnn = _set_by_program().MUDNN_HOME
        if mudnn is not None:
            paths.append(os.path.join(mudnn, "include"))
    return paths


def _compatible_folders(package: str) -> list[str]:
    share = os.path.join(package, "share")
    compatible = os.path.join(share, "generated_cuda_compatible")
    include = os.path.join(compatible, "include")
    return [
        os.path.join(compatible, "aten", "src"),
        include,
        os.path.join(include, "torch", "csrc", "api", "include"),
        os.path.join(share, "torch_musa_codegen"),
    ]


def library_paths(musa: bool = False) -> list[str]:
    """The folders of libraries to link against. The toolkit's is among them only if it has a `lib` and no `lib64`."""
    paths = [TORCH_LIB_PATH, TORCH_MUSA_LIB_PATH]
    if musa:
        lib = _join_musa_home("lib")
        if not os.path.exists(_join_musa_home("lib64")) and os.path.exists(lib):
            paths.append(lib)
    return paths


def get_cxx_compiler() -> str:
    return os.environ.get("CXX", "c++")


def _get_mcc_compiler() -> str:
    return os.environ.get("PYTORCH_MCC") or _join_musa_home("bin", "mcc")
