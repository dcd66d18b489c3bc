"""Headers that are called as CUDA's are: they include the accelerator's, and macros give its names CUDA's.

They are for host sources that CMake or make compiles with a compiler of its own, so that nothing has ported them. Ported sources
include the accelerator's headers.
"""

from __future__ import annotations

import re
from pathlib import Path

from torchada.porting import Names
from torchada.porting.symbols import known
from torchada.porting.versions import REACHED

_RENAMED = "torchada_names.h"
# Those that host sources include. Headers of the accelerator that have CUDA's name are there already.
_HEADERS = (
    "cuComplex.h",
    "cublas.h",
    "cublasLt.h",
    "cublas_v2.h",
    "cuda.h",
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_fp8.h",
    "cuda_profiler_api.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cufft.h",
    "curand.h",
    "cusolverDn.h",
    "cusparse.h",
    "nccl.h",
)
_TYPES = (
    "nv_bfloat16",
    "nv_bfloat162",
    "__nv_bfloat16",
    "__nv_bfloat162",
    "nv_half",
    "nv_half2",
    "__nv_fp8_e4m3",
    "__nv_fp8_e5m2",
)
# Who compiles, and the versions: their values matter, not their names.
_OF_COMPILERS = re.compile(r"__CUDA\w*|__NVCC__|\w+_VERSION")


def write(include: Path) -> None:
    """Write the headers into a folder that has the accelerator's."""
    names = Names()
    for header in _HEADERS:
        answer = names.header(header)
        if (include / header).exists() or answer is None or not (include / str(answer.name)).exists():
            continue
        version = f"#define CUDA_VERSION {REACHED}\n" if header == "cuda.h" else ""  # builds read it from this header
        (include / header).write_text(f'#pragma once\n#include <{answer.name}>\n#include "{_RENAMED}"\n{version}')
    (include / _RENAMED).write_text(_macros(names))


def _macros(names: Names) -> str:
    answers = ((name, names.identifier(name)) for name in sorted({*known().translated, *_TYPES}))
    renamed = (
        f"#define {name} {answer.name}"
        for name, answer in answers
        if answer is not None and answer.name not in (None, name) and not _OF_COMPILERS.fullmatch(name)
    )
    version = f"#ifndef CUDART_VERSION\n#define CUDART_VERSION {REACHED}\n#endif"
    return "\n".join(["#pragma once", version, *renamed, ""])
