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

ENTRIES = {"torch-2.13.0-cpython-311-0123": ["_MUSAC.so", "libmusart.so"], "mccl-4567": ["libmccl.so.2"]}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A file with two entries of a cache, and its SHA-256. From then on, the cache is another one."""
    monkeypatch.setenv("MUSASIM_CACHE_DIR", str(tmp_path / "packed"))
    for entry, names in ENTRIES.items():
        (tmp_path / "packed" / entry).mkdir(parents=True)
        for name in (*names, "manifest"):
            (tmp_path / "packed" / entry / name).write_bytes(name.encode() * 100)
    file = tmp_path / "packed.tar.gz"
    digest = packed.pack(ENTRIES, file)
    monkeypatch.setenv("MUSASIM_CACHE_DIR", str(tmp_path / "cache"))
    return file, digest


def test_the_libraries_come_out_as_they_went_in(archive: tuple[Path, str], tmp_path: Path) -> None:
    packed.unpack(*archive, ENTRIES)
    for entry, names in ENTRIES.items():
        assert {file.name for file in (tmp_path / "cache" / entry).iterdir()} > set(names)
    assert (tmp_path / "cache" / "mccl-4567" / "libmccl.so.2").read_bytes() == b"libmccl.so.2" * 100


def test_what_is_there_already_stays(archive: tuple[Path, str], tmp_path: Path) -> None:
    packed.unpack(*archive, ENTRIES)
    before = (tmp_path / "cache" / "mccl-4567" / "libmccl.so.2").stat().st_ino
    packed.unpack(*archive, ENTRIES)
    assert (tmp_path / "cache" / "mccl-4567" / "libmccl.so.2").stat().st_ino == before


def test_a_file_that_was_changed_is_refused(archive: tuple[Path, str], tmp_path: Path) -> None:
    file, digest = archive
    with file.open("ab") as end:
        end.write(b"more")
    with pytest.raises(
        MusasimBuildError, match=rf"is not the file that was meant: its SHA-256 is .*, expected {digest}"
    ):
        packed.unpack(file, digest, ENTRIES)
    assert not (tmp_path / "cache").exists()


def test_what_was_compiled_for_another_torch_is_refused(archive: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(
        MusasimBuildError, match=r"it has .*torch-2\.13\.0-cpython-311-0123, and torch-2\.7\.1 are needed here"
    ):
        packed.unpack(*archive, {"torch-2.7.1": ["_MUSAC.so"]})
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("digest", ["", "abc", "z" * 64])
def test_what_is_no_checksum_is_refused(archive: tuple[Path, str], digest: str) -> None:
    with pytest.raises(MusasimBuildError, match="is no SHA-256: expected the 64 hexadecimal digits"):
        packed.unpack(archive[0], digest, ENTRIES)


def test_a_file_that_is_not_there_or_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MusasimBuildError, match=r"none\.tar\.gz cannot be read: No such file"):
        packed.unpack(tmp_path / "none.tar.gz", "0" * 64, ENTRIES)
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(MusasimBuildError, match="is not what `python -m musasim pack` writes"):
        packed.unpack(tmp_path / "text", packed._digest(tmp_path / "text"), ENTRIES)


def test_an_archive_with_something_else_in_it_is_refused(archive: tuple[Path, str], tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as other, tarfile.open(archive[0]) as good:
        for member in good.getmembers():
            other.addfile(member, good.extractfile(member))
        other.add(archive[0], "../outside")
    with pytest.raises(MusasimBuildError, match=r"it has \.\., and"):
        packed.unpack(tmp_path / "other.tar.gz", packed._digest(tmp_path / "other.tar.gz"), ENTRIES)


def test_a_link_is_refused(archive: tuple[Path, str], tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as other, tarfile.open(archive[0]) as good:
        for member in good.getmembers():
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            other.addfile(member)
    with pytest.raises(MusasimBuildError, match="was not packed for this torch"):
        packed.unpack(tmp_path / "other.tar.gz", packed._digest(tmp_path / "other.tar.gz"), ENTRIES)


@pytest.mark.full
@pytest.mark.musa
def test_another_cache_takes_it_and_compiles_nothing(tmp_path: Path) -> None:
    def musasim(*words: str, **env: str) -> str:
        command = [sys.executable, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **env})
        assert done.returncode == 0, done.stderr
        return done.stdout

    file = tmp_path / "simulator.tar.gz"
    digest = musasim("-m", "musasim", "pack", str(file)).split()[0]
    there = {"MUSASIM_CACHE_DIR": str(tmp_path / "cache"), "CXX": "/no/such/compiler"}
    unpacked_to = musasim("-m", "musasim", "unpack", str(file), digest, **there)
    assert unpacked_to.startswith(there["MUSASIM_CACHE_DIR"])
    assert musasim("-m", "musasim", "build", **there) == unpacked_to
    code = (
        "import musasim; musasim.install(); import torch, torch_musa; print(torch.ones(2, device='musa').sum().item())"
    )
    assert musasim("-c", code, **there, TORCHADA_DISABLE="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "2.0\n"
