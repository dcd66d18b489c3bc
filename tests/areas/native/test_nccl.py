"""NCCL by ctypes, without torch's process group for it: inference servers do so beside CUDA graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.launch import WAYS, torchrun

pytestmark = pytest.mark.once

PROGRAM = Path(__file__).parent / "programs" / "nccl_by_ctypes.py"
RIGHT = "all-reduce, reduce, all-gather, reduce-scatter, broadcast, send and receive, in a graph, NCCL error: invalid argument"


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
def test_every_operation_of_a_wrapper_on_two_ranks(tmp_path: Path, way: str) -> None:
    said = torchrun(PROGRAM, folder=tmp_path, way=way).must_succeed().output
    assert {line for line in said.splitlines() if line.startswith("rank")} == {
        f"rank {rank}, version 22809: {RIGHT}" for rank in range(2)
    }


@pytest.mark.full
@pytest.mark.parametrize("name", ["libnccl.so.2", "libnccl.so", "libmccl.so.2"])
def test_the_library_by_its_names(musa: Interpreter, name: str) -> None:
    """SGLang opens libmccl.so.2 itself, and looks up NCCL's functions in it."""
    musa.run(
        f"""
        import ctypes, torch
        library, version = ctypes.CDLL({name!r}), ctypes.c_int()
        assert library.ncclGetVersion(ctypes.byref(version)) == 0 and version.value > 20000
        try:
            library.ncclNoSuchFunction
        except AttributeError as error:
            assert "ncclNoSuchFunction is mcclNoSuchFunction on MUSA" in str(error)
        else:
            raise AssertionError
        """,
        forked=True,
    )
