"""`python -m musasim pack` and `unpack`: the compiled part for another machine, which is taken only as it was packed."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from musasim import packed
from musasim.errors import MusasimBuildError

pytestmark = pytest.mark.once

KEY = "torch-2.13.0-cpython-311-0123456789abcdef"
NAMES = ("_MUSAC.so", "libmusart.so")


@pytest.fixture
def archive(tmp_path: Path) -> tuple[Path, str]:
    """A file with two libraries, and its SHA-256."""
    folder = tmp_path / "compiled"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_bytes(name.encode() * 100)
    (folder / "manifest.json").touch()
    file = tmp_path / "packed.tar.gz"
    return file, packed.pack(folder, KEY, NAMES, file)


def unpacked(file: Path, digest: str, key: str = KEY) -> Path:
    place = file.with_name("place")
    place.mkdir()
    packed.unpack(file, digest, key, NAMES, place)
    return place


def test_the_libraries_come_out_as_they_went_in(archive: tuple[Path, str]) -> None:
    place = unpacked(*archive)
    assert sorted(file.name for file in place.iterdir()) == sorted(NAMES)
    assert (place / "_MUSAC.so").read_bytes() == b"_MUSAC.so" * 100


def test_a_file_that_was_changed_is_refused(archive: tuple[Path, str]) -> None:
    file, digest = archive
    with file.open("ab") as end:
        end.write(b"more")
    with pytest.raises(
        MusasimBuildError, match=rf"is not the file that was meant: its SHA-256 is .*, expected {digest}"
    ):
        unpacked(file, digest)


def test_what_was_compiled_for_another_torch_is_refused(archive: tuple[Path, str]) -> None:
    with pytest.raises(MusasimBuildError, match=f"was compiled for {KEY}, and torch-2.7.1 is needed here"):
        unpacked(*archive, key="torch-2.7.1")


@pytest.mark.parametrize("digest", ["", "abc", "z" * 64])
def test_what_is_no_checksum_is_refused(archive: tuple[Path, str], digest: str) -> None:
    with pytest.raises(MusasimBuildError, match="is no SHA-256: expected the 64 hexadecimal digits"):
        unpacked(archive[0], digest)


def test_a_file_that_is_not_there_or_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MusasimBuildError, match=r"none\.tar\.gz cannot be read: No such file"):
        unpacked(tmp_path / "none.tar.gz", "0" * 64)
    (tmp_path / "place").rmdir()
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(MusasimBuildError, match="is not what `python -m musasim pack` writes"):
        unpacked(tmp_path / "text", packed._digest(tmp_path / "text"))


def test_an_archive_of_something_else_is_refused(archive: tuple[Path, str], tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as other, tarfile.open(archive[0]) as good:
        for member in good.getmembers():
            other.addfile(member, good.extractfile(member))
        other.add(archive[0], "../outside")
    with pytest.raises(
        MusasimBuildError, match=r"it holds \['\.\./outside', '_MUSAC\.so', 'key\.txt', 'libmusart\.so'\]"
    ):
        unpacked(tmp_path / "other.tar.gz", packed._digest(tmp_path / "other.tar.gz"))


@pytest.mark.full
@pytest.mark.musa
def test_another_cache_takes_it_and_compiles_nothing(tmp_path: Path) -> None:
    def musasim(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "musasim", *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=300, env={**os.environ, **env}, check=True
        )

    file = tmp_path / "simulator.tar.gz"
    digest = musasim("pack", str(file)).stdout.split()[0]
    there = {"MUSASIM_CACHE_DIR": str(tmp_path / "cache"), "CXX": "/no/such/compiler"}
    unpacked_to = musasim("unpack", str(file), digest, **there).stdout.strip()
    assert unpacked_to.startswith(there["MUSASIM_CACHE_DIR"])
    assert musasim("build", **there).stdout.strip() == unpacked_to
    code = (
        "import musasim; musasim.install(); import torch, torch_musa; print(torch.ones(2, device='musa').sum().item())"
    )
    without = {"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **there, **without},
    )
    assert done.stdout == "2.0\n", done.stderr
