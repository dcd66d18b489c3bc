"""What a ported source finds where it asks who compiles it: the answers of docs/how-to/porting.md's table of compilers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from musasim import toolkit
from torchada.porting import port_source

pytestmark = pytest.mark.once

ASKED = {
    "defined(__CUDACC__)": True,
    "defined(__CUDA__)": True,
    "defined(__NVCC__)": True,
    "defined(__CUDA_ARCH__)": True,
    "defined(CUDA_VERSION)": True,
    "defined(CUDART_VERSION)": True,
    "defined(__CUDACC_RTC__)": False,
    "defined(__CUDACC_RDC__)": False,
    "defined(__CUDACC_EXTENDED_LAMBDA__)": False,
    "defined(__CUDACC_RELAXED_CONSTEXPR__)": False,
    "__CUDA_ARCH__ >= 800": True,
    "__CUDA_ARCH__ >= 900": False,
    "CUDA_VERSION >= 11080": True,
    "CUDA_VERSION >= 12000": False,
    "CUDART_VERSION >= 11070": True,
}
# In sources of their own: whoever asks for nvcc's version means nvcc.
OF_NVCC = {
    "defined(__NVCC__)": False,
    "defined(__CUDACC_VER_MAJOR__)": False,
    "__CUDACC_VER_MAJOR__ >= 11": True,
    "__CUDACC_VER_MAJOR__ == 11 && __CUDACC_VER_MINOR__ >= 8": True,
    "(__CUDACC_VER_MAJOR__ * 10000 + __CUDACC_VER_MINOR__ * 100 >= 120800)": False,
}


@pytest.mark.parametrize("asked", [ASKED, OF_NVCC], ids=["device", "nvcc"])
def test_a_source_gets_the_answers_of_the_table(asked: dict[str, bool], tmp_path: Path) -> None:
    source = "#include <cuda_runtime_api.h>\n#include <cuda.h>\n" + "".join(
        f"#if {question}\nanswer {at} 1\n#endif\n" for at, question in enumerate(asked)
    )
    (tmp_path / "asks.mu").write_bytes(port_source(source.encode()).text)
    command = [toolkit.home() / "bin" / "mcc", "-E", "asks.mu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answers = {int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("answer ")}
    assert {question: at in answers for at, question in enumerate(asked)} == asked
