"""Libraries that a build links with: names after -l, and the accelerator's for CUDA's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from torchada.building.toolkit import Toolkit
from torchada.porting.rules.build import LINKED_LIBRARIES

# torch's own libraries, which the adapter's replace.
TORCH = frozenset({"c10_cuda", "torch_cuda", "torch_cuda_cpp", "torch_cuda_cu", "torch_cuda_linalg"})
# Left out, with a notice that gives the reason. The porter knows no counterpart of these either.
ABSENT = {
    "cudadevrt": "kernels that start kernels are not known to be possible",
    "culibos": "it is a part of NVIDIA's static libraries",
    "nvToolsExt": "its counterpart is not known by its name",
    "nvtx3interop": "its counterpart is not known by its name",
    "nvptxcompiler": "there is no PTX",
    "nvJitLink": "there is no PTX",
    "nvidia-ml": "the counterpart takes other arguments",
    "cudnn_frontend": "it has no counterpart",
    "cusparseLt": "it has no counterpart",
}
# What torch's own libraries are linked with. Extensions that call these need not name them, since they are linked with torch's.
_BROUGHT_ALONG = {
    "cublas": re.compile(rb"(?<!\w)(?:cublas(?!Lt)[A-Z]\w*|getCurrentCUDABlasHandle)\s*\("),
    "cublasLt": re.compile(rb"(?<!\w)(?:cublasLt[A-Z]\w*|getCurrentCUDABlasLtHandle)\s*\("),
    "cusparse": re.compile(rb"(?<!\w)(?:cusparse[A-Z]\w*|getCurrentCUDASparseHandle)\s*\("),
    "cusolver": re.compile(rb"(?<!\w)cusolver[A-Z]\w*\s*\("),
}
_STATIC = ("_static_nocallback", "_static")


def linked(names: Iterable[str], toolkit: Toolkit) -> tuple[list[str], list[str]]:
    """The libraries to link with in place of `names`, each replacement once, and the notices for the user."""
    replacements: list[str] = []
    notices = []
    for name in names:
        why = _why_left_out(name, toolkit)
        if why is not None:
            notices.append(f"library {name} is left out: {why}")
            continue
        own = toolkit.libraries if name in TORCH else (counterpart(name, toolkit),)
        replacements += [library for library in own if library == name or library not in replacements]
    return replacements, notices


def brought_along(sources: Iterable[str], toolkit: Toolkit) -> list[str]:
    """The libraries that these sources call and torch's CUDA libraries bring along, as far as the toolkit has counterparts."""
    called: set[str] = set()
    for source in sources:
        with open(source, "rb") as stream:
            text = stream.read()
        called |= {name for name, call in _BROUGHT_ALONG.items() if call.search(text) is not None}
    own = [counterpart(name, toolkit) for name in sorted(called)]
    return [name for name in own if toolkit.has_library(name)]


def _why_left_out(name: str, toolkit: Toolkit) -> str | None:
    """The reason, if any. Many builds name libraries that they do not use; if one is used, loading reports the missing symbol."""
    if _bare(name) in ABSENT:
        return ABSENT[_bare(name)]
    own = counterpart(name, toolkit)
    if name in TORCH or own in (name, toolkit.runtime) or toolkit.has_library(own):
        return None
    return f"on {toolkit.name} it is {own}, and there is no lib{own} in {toolkit.library_folder()}"


def counterpart(name: str, toolkit: Toolkit) -> str:
    """The accelerator's name of the library `name`."""
    bare = _bare(name)
    if bare.startswith("cudnn_"):
        bare = "cudnn"
    if bare == "cudart":
        return toolkit.runtime
    return LINKED_LIBRARIES.get(bare, name)


def is_of_cuda(name: str) -> bool:
    """Whether a library is one of CUDA's, or of torch's for CUDA."""
    bare = _bare(name)
    return name in TORCH or bare in ABSENT or bare in LINKED_LIBRARIES or bare.startswith("cudnn_")


def _bare(name: str) -> str:
    """The name of a library without what its static file adds to it: libnvptxcompiler_static.a is nvptxcompiler."""
    return next((name[: -len(end)] for end in _STATIC if name.endswith(end)), name)


def linker_flags(flags: Sequence[str], toolkit: Toolkit) -> tuple[list[str], list[str]]:
    """`flags` of a linker's command line with the libraries in them translated: -lcudart, -l cudart, -Wl,-lcudart."""
    out: list[str] = []
    notices: list[str] = []
    rest = iter(flags)
    for flag in rest:
        if flag == "-l":
            flag += next(rest, "")
        if flag.startswith("-l") and not flag.startswith("-l:"):
            names, said = linked([flag[2:]], toolkit)
            new = [f"-l{name}" for name in names if name == flag[2:] or f"-l{name}" not in out]
        elif flag.startswith("-Wl,"):
            parts, said = linker_flags(flag.split(",")[1:], toolkit)
            new = [",".join(["-Wl", *parts])] if parts else []
        else:
            new, said = [flag], []
        out += new
        notices += said
    return out, notices


def names_in(flags: Iterable[str]) -> list[str]:
    """The libraries that flags of a linker name."""
    parts = [part for flag in flags for part in (flag.split(",") if flag.startswith("-Wl,") else [flag])]
    return [part[2:] for part in parts if part.startswith("-l")]
