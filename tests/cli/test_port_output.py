"""`torchada port -o`: a folder, or a file for one source; and what the command says of it before it begins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchada import cli

pytestmark = pytest.mark.once


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "k.cu").write_text("#include <cuda_runtime.h>\n")
    (tmp_path / "plain.cpp").write_bytes(b"int \xff;\n")
    monkeypatch.chdir(tmp_path)
    return "k.cu"


def test_one_source_becomes_the_file_that_is_named(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["port", source, "-o", "out.mu"]) == 0
    assert Path("out.mu").read_text() == "#include <musa_runtime.h>\n"
    assert capsys.readouterr().err == "torchada port: writes the file out.mu\n"
    assert cli.main(["port", "plain.cpp", "-q", "-o", "copy.cpp"]) == 0
    assert Path("copy.cpp").read_bytes() == b"int \xff;\n" and capsys.readouterr().err == ""


def test_any_other_name_is_a_folder(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["port", source, "-o", "out"]) == 0
    assert os.listdir("out") and capsys.readouterr().err == "torchada port: writes the folder out: 1 source ported\n"


def test_what_will_be_written_is_said_before_anything_is(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tree").mkdir()
    for name in ("a.cu", "b.cu", "notes.md"):
        Path("tree", name).write_text("int x;\n")
    Path("out").mkdir()
    Path("out", "mine").write_text("a folder that the command has not made")
    assert cli.main(["port", "tree", "-o", "out"]) == 2
    said = capsys.readouterr().err
    assert (
        said.startswith("torchada port: writes the folder out: 2 sources ported, 1 file copied\n")
        and "was not made by" in said
    )
    assert os.listdir("out") == ["mine"]
    assert cli.main(["port", "tree", "-q", "-o", "new"]) == 0 and capsys.readouterr().err == ""


def test_a_file_that_is_there_is_replaced_by_force_alone(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.mu").write_text("mine")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["port", source, "-o", "out.mu"])
    assert "--output out.mu: this file exists; --force replaces it" in capsys.readouterr().err
    assert cli.main(["port", source, "-o", "out.mu", "--force"]) == 0 and Path("out.mu").read_text() != "mine"


def test_a_folder_that_there_is_not_is_named(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["port", source, "-o", "no/such/place"])
    assert f"there is no folder {os.path.abspath('no/such')}" in capsys.readouterr().err and not Path("no").exists()


def test_a_reader_that_has_read_enough_is_no_error(source: str) -> None:
    Path("long.cu").write_text("cudaMalloc(a);\n" * 20_000)
    command = [sys.executable, "-m", "torchada", "port", "long.cu", "--diff"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "--- a/long.cu\n"
        process.stdout.close()
        assert process.wait(timeout=60) == 141 and process.stderr.read() == ""
