"""What CMake asks of nvcc, when a project enables the language CUDA: the folders and the command of linking, in nvcc's own form."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence

from torchada.building.toolkit import Toolkit
from torchada.porting.versions import REACHED

DEFAULT_ARCHITECTURE = "75"
"""The architecture of NVIDIA's that a project gets that names none. Code is generated for the accelerator's in any case."""

_IDENTIFYING = "CMakeCUDACompilerId.cu"


def identity(sources: Iterable[str]) -> list[str]:
    """The macros by which CMake knows nvcc, if its own source that asks for the compiler is among `sources`; it is not ported.

    Other sources get none of them: what asks whether they are defined means nvcc, and the accelerator's compiler is clang.
    """
    if not any(os.path.basename(source) == _IDENTIFYING for source in sources):
        return []
    version = {"MAJOR": REACHED // 1000, "MINOR": REACHED % 1000 // 10, "BUILD": 0}
    numbers = [f"-D__CUDACC_VER_{part}__={number}" for part, number in version.items()]
    return ["-D__CUDACC__", "-D__NVCC__", *numbers]


def told(home: str, toolkit: Toolkit, inputs: Sequence[str], output: str | None) -> list[str]:
    """The lines that nvcc -v prints and CMake reads. `home` is the folder that builds take for CUDA's toolkit."""
    libraries = f'"-L{os.path.join(home, "lib64")}"'
    compiler = shlex.quote(toolkit.compiler_path())
    files = " ".join(map(shlex.quote, inputs))
    lines = [
        f"TOP={home}",
        f'INCLUDES="-I{os.path.join(home, "include")}"  ',
        f"LIBRARIES=  {libraries}",
        f"{compiler} -arch compute_{DEFAULT_ARCHITECTURE} {files}",
        f"{compiler} {files} {libraries} -l{toolkit.runtime} -o {shlex.quote(output or 'a.out')}",
    ]
    return [f"#$ {line}" for line in lines]
