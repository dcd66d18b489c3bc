"""torch_musa's own porting tools: names replaced in a folder of CUDA sources, and in Python programs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from argparse import Namespace
from pathlib import Path

import pytest

import musasim

musasim.install()

from torch_musa.utils import porting_names  # noqa: E402
from torch_musa.utils.musa_converter import AdvancedMUSAConverter  # noqa: E402

pytestmark = pytest.mark.once


def ported(folder: Path, arguments: str = "") -> Path:
    """The folder that the tool made, run by itself because it changes the process's logging."""
    code = "import musasim; musasim.install()\nfrom torch_musa.utils.simple_porting import SimplePorting\n"
    code += f"SimplePorting({str(folder)!r}, {arguments}).run()"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    return folder.with_name(folder.name + "_musa")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "ops"
    (folder / "deep").mkdir(parents=True)
    kernel = """\
        #include <cuda_runtime.h>
        #include <cub/cuda_reduce.cuh>
        // cudaMalloc in a comment
        cudaStream_t s; CUstream_st* d; my_cudaFree(p); CudaThing t;
        """
    (folder / "kernel.cu").write_text(textwrap.dedent(kernel))
    (folder / "deep" / "common.cuh").write_text("at::cuda::CUDAGuard guard;\n")
    return folder


def test_a_folder_is_ported_by_the_default_names(sources: Path) -> None:
    target = ported(sources)
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*.*")) == ["deep/common.muh", "kernel.mu"]
    assert (target / "kernel.mu").read_text().splitlines() == [
        "#include <musa_runtime.h>",
        "#include <cub/cuda_reduce.cuh>",
        "// cudaMalloc in a comment",
        "musaStream_t s; MUstream_st* d; my_musaFree(p); CudaThing t;",
    ]
    assert (target / "deep" / "common.muh").read_text() == "at::cuda::MUSAGuard guard;\n"


def test_names_of_ones_own_alone(sources: Path) -> None:
    target = ported(sources, "mapping_rule={'cuda': 'x', 'cudaStream_t': 'y'}, drop_default_mapping=True")
    assert (target / "kernel.mu").read_text().splitlines()[3].startswith("y s; CUstream_st* d; my_xFree(p)")


def test_tables_of_a_folder_win_over_names_of_ones_own(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "some.json").write_text('{"CudaThing": "table"}')
    (tmp_path / "tables" / "general.json").write_text('{"cudaStream_t": "never"}')
    target = ported(sources, f'mapping_rule=\'{{"CudaThing": "mine"}}\', mapping_dir_path={str(tmp_path / "tables")!r}')
    assert (target / "kernel.mu").read_text().splitlines()[
        3
    ] == "cudaStream_t s; CUstream_st* d; my_cudaFree(p); table t;"


def test_folders_are_left_out_and_an_old_result_is_deleted(sources: Path) -> None:
    (sources.with_name("ops_musa")).mkdir()
    (sources.with_name("ops_musa") / "old.mu").touch()
    target = ported(sources, f"ignore_dir_paths=[{str(sources / 'deep')!r}]")
    assert [path.name for path in target.rglob("*.mu*")] == ["kernel.mu"]


def test_nothing_to_replace_is_an_error(sources: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        ported(sources, "drop_default_mapping=True")


def test_names_follow_from_cudas() -> None:
    names = porting_names.mapping()
    assert len(names) == 1776
    assert (
        names["cudaMalloc"] == "musaMalloc"
        and names["CUuuid_st"] == "MUuuid_st"
        and names["cuComplex.h"] == "muComplex.h"
    )
    assert names["#ifdef CUDART_VERSION"] == "#if 0" and names["cublas_v2.h"] == "mublas.h"
    assert all("uda" not in other.lower() for other in names.values())


def converted(folder: Path, program: str, launch: bool = False, excluded: list[str] | None = None) -> str:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    args = Namespace(root_path=str(folder), launch_path=str(path) if launch else None, excluded_path=excluded or [])
    AdvancedMUSAConverter(args).run()
    return path.read_text()


PROGRAM = '''\
# Trains on CUDA.
"""By NCCL."""

import torch.cuda.amp, other.torch.cuda
from torch.utils.cpp_extension \\
    import CUDA_HOME; from torch.cuda import amp
if torch.cuda.is_available(): import torch.cuda as cuda
x = f"nvcc {torch.cuda.device_count()}".cuda()
'''
ON_MUSA = '''\
# Trains on MUSA.
import torch_musa
"""By MCCL."""

import torch_musa.amp, other.torch.musa
from torch_musa.utils.musa_extension \\
    import MUSA_HOME; from torch_musa import amp
if torch.musa.is_available(): import torch_musa as musa
x = f"mcc {torch.musa.device_count()}".musa()
'''


def test_a_program_is_converted_and_imports_torch_musa_first(tmp_path: Path) -> None:
    assert converted(tmp_path, PROGRAM, launch=True) == ON_MUSA


def test_only_the_launch_script_imports_torch_musa(tmp_path: Path) -> None:
    assert converted(tmp_path, PROGRAM) == ON_MUSA.replace("import torch_musa\n", "", 1)


def test_excluded_files_stay(tmp_path: Path) -> None:
    assert converted(tmp_path, PROGRAM, excluded=[str(tmp_path / "program.py")]) == PROGRAM
    with pytest.raises(SystemExit):
        converted(tmp_path, PROGRAM, excluded=[str(tmp_path / "absent.py")])


def test_what_is_no_python_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(SyntaxError):
        converted(tmp_path, "cuda = = 1\n")
    assert (tmp_path / "program.py").read_text() == "cuda = = 1\n"
