"""Gathers the facts: from metadata and files in this process, from torch and the adapter in processes of their own."""

from __future__ import annotations

import glob
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Iterator
from typing import Any

from torchada.backends import select
from torchada.backends.descriptor import Backend
from torchada.backends.musa import MUSA
from torchada.base import settings
from torchada.base.adapters import ADAPTERS
from torchada.base.version import __version__
from torchada.control import startup_files
from torchada.tools.doctor import child_probes, machine
from torchada.tools.doctor.facts import Distribution, Facts, Probe, StartupFile
from torchada.views import elf

try:
    from importlib_metadata import distributions
except ImportError:  # an environment without torchada's dependencies is examined as well
    from importlib.metadata import distributions  # type: ignore[assignment]

# What other distributions bring or conflict with; all others are no business of ours.
NAMES = frozenset(
    {
        "torch",
        "torchada",
        "torchvision",
        "torchaudio",
        "triton",
        "pytorch-triton",
        "wrapt",
        "numpy",
        "ninja",
        "mthreads-ml-py",
    }
    | {
        "torch-musa",
        "torch-npu",
        "torch-mlu",
        "intel-extension-for-pytorch",
        "cuda-morph",
        "torchdevice",
    }
    | {
        "transformers",
        "accelerate",
        "sglang",
        "vllm",
        "deepspeed",
        "lightning",
        "flash-attn",
        "xformers",
        "bitsandbytes",
    }
)
_VARIABLES = re.compile(
    r"(TORCHADA|MUSA|MUSASIM|MTHREADS|CUDA|MCCL|NCCL|PYTORCH|TORCH)_\w+|LD_LIBRARY_PATH|PYTHONPATH|(?:ASCEND|MLU)_\w+"
    r"|HOST_VISIBLE_DEVICES|ZE_AFFINITY_MASK"
)
# Modules of packages that redirect torch.cuda as well. By module: PyPI has a `torchdevice` that is another project.
_REDIRECTIONS = {"ascend_compat": "cuda-morph", "TorchDevice": "TorchDevice"}
_HIDDEN = ("torch", "torchada", "torch_musa", "triton", "wrapt")
_LIBRARIES_OF = ("torchvision", "torchaudio")
_OF_CUDA = re.compile(r"lib(?:cudart|cublas|cublasLt|cuda|cudnn)\.so\b.*|libtorch_cuda\.so")


def gather(backend: Backend, limit: float, root: str = "/") -> Facts:
    """The facts of this environment; each question to another process has `limit` seconds."""
    torch = child_probes.torch(limit)
    return Facts(
        python=platform.python_version(),
        executable=sys.executable,
        prefix=sys.prefix,
        torchada=__version__,
        distributions=tuple(_distributions()),
        torch=torch,
        adapter=child_probes.adapter(backend.adapter, backend.namespace, limit) if torch.ok else _not_asked(backend),
        status=child_probes.status(limit) if torch.ok else Probe({}, "not asked, because torch cannot be imported"),
        machine=machine.look(root),
        startup=tuple(_startup_files()),
        variables={name: value for name, value in sorted(settings.everything().items()) if _VARIABLES.fullmatch(name)},
        cuda_libraries={name: needed for name in _LIBRARIES_OF if (needed := _libraries(name))},
        triton_backends=tuple(_triton_backends()),
        folder_hides=tuple(_hidden(os.getcwd())),
        adapter_name=backend.adapter,
        redirections=tuple(name for module, name in _REDIRECTIONS.items() if _place(module)),
    )


def backend_here() -> Backend:
    """The backend whose adapter is examined: the one that would be chosen here, or MUSA's where that is none of the vendors'."""
    chosen = select.before_torch(settings.read()).backend
    return chosen if chosen is not None and chosen.name in ADAPTERS else MUSA


def _not_asked(backend: Backend) -> Probe:
    installed = _place(backend.adapter) != ""
    return Probe({"installed": installed}, "not asked, because torch cannot be imported")


def _distributions() -> Iterator[Distribution]:
    """What is installed. Metadata that a build has left beside the sources of an installed distribution do not count again."""
    metadata = dict(_metadata())
    installed = {
        (distribution.name, distribution.version) for distribution, is_installed in metadata.items() if is_installed
    }
    for distribution, is_installed in metadata.items():
        if is_installed or (distribution.name, distribution.version) not in installed:
            yield distribution


def _metadata() -> Iterator[tuple[Distribution, bool]]:
    """Each distribution, and whether its metadata were written by an installation."""
    seen = set()
    for distribution in distributions():
        try:
            name, version = distribution.metadata["Name"], distribution.version
        except Exception:  # damaged metadata
            continue
        plain = re.sub(r"[-_.]+", "-", name or "").lower()
        folder = str(distribution.locate_file(""))
        if plain in NAMES and (plain, folder) not in seen:
            seen.add((plain, folder))
            yield (
                Distribution(plain, version or "", folder, _origin(distribution)),
                distribution.read_text("SOURCES.txt") is None,
            )


def _origin(distribution: Any) -> str:
    """What a distribution was installed from (PEP 610); empty where it came from an index, or nobody has written it down."""
    try:
        origin = getattr(distribution, "origin", None)
        url = str(getattr(origin, "url", "")).removeprefix("file://")
        commit = getattr(getattr(origin, "vcs_info", None), "commit_id", "")
        is_editable = getattr(getattr(origin, "dir_info", None), "editable", False)
    except Exception:  # damaged metadata
        return ""
    return f"{'editable, ' if is_editable else ''}{url}{f'@{commit}' if commit else ''}"


def _startup_files() -> Iterator[StartupFile]:
    """Every start-up file that this interpreter would read, and what is wrong with it."""
    for folder in startup_files.site_folders():
        for name in startup_files.NAMES:
            path = folder / name
            if path.exists():
                yield StartupFile(str(path), _fault(str(path), name))


def _fault(path: str, name: str) -> str:
    expected = "_torchada_startup"
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        return f"it cannot be read: {getattr(error, 'strerror', None) or error}"
    return "" if expected in text else f"it does not name {expected}"


def _place(package: str) -> str:
    """The folder of a package that can be imported, without importing it; empty where there is none."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return ""
    return next(iter(spec.submodule_search_locations or ()), "") if spec is not None else ""


def _libraries(package: str) -> tuple[str, ...]:
    """Libraries of CUDA that the package's own libraries need."""
    needed = set()
    for file in glob.glob(os.path.join(glob.escape(_place(package)), "*.so")) if _place(package) else ():
        try:
            needed |= {name for name in elf.needed(file) if _OF_CUDA.fullmatch(name)}
        except OSError:
            continue
    return tuple(sorted(needed))


def _triton_backends() -> list[str]:
    place = _place("triton")
    folder = os.path.join(place, "backends")
    if not place or not os.path.isdir(folder):
        return []
    return sorted(name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name, "compiler.py")))


def _hidden(folder: str) -> Iterator[str]:
    """Files and folders here that hide an installed package from every program that is started here."""
    for name in _HIDDEN:
        for path in (os.path.join(folder, f"{name}.py"), os.path.join(folder, name, "__init__.py")):
            installed = _place(name)
            if os.path.isfile(path) and os.path.realpath(os.path.dirname(path)) != os.path.realpath(installed or "/"):
                yield path
