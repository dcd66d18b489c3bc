"""Whatever happens to a folder after it was stored is noticed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from _torchada_cache import manifest


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    folder = tmp_path / "entry"
    (folder / "bin").mkdir(parents=True, mode=0o700)
    (folder / "bin" / "program").write_bytes(bytes(range(256)) * 20)
    (folder / "bin" / "program").chmod(0o755)
    (folder / "lib.so").write_bytes(b"library")
    (folder / "lib").symlink_to("bin")
    manifest.write(folder)
    return folder


def truncated(folder: Path) -> None:
    os.truncate(folder / "bin" / "program", 100)


def flipped(folder: Path) -> None:
    """One bit, with size and time as they were."""
    program = folder / "bin" / "program"
    before = program.stat()
    data = bytearray(program.read_bytes())
    data[4000] ^= 4
    program.write_bytes(data)
    os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))


def redirected(folder: Path) -> None:
    (folder / "lib").unlink()
    (folder / "lib").symlink_to("/tmp")


def exchanged(folder: Path) -> None:
    """A link in place of a file, to the very same."""
    (folder / "lib.so").rename(folder.parent / "lib.so")
    (folder / "lib.so").symlink_to(folder.parent / "lib.so")


def piped(folder: Path) -> None:
    (folder / "lib.so").unlink()
    os.mkfifo(folder / "lib.so", 0o600)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (truncated, "bin/program has changed since it was stored"),
    "flipped": (flipped, "bin/program has changed since it was stored"),
    "missing": (lambda folder: (folder / "lib.so").unlink(), "lib.so is missing"),
    "added": (lambda folder: (folder / "bin" / "nvcc").touch(0o600), "bin/nvcc was not stored there"),
    "redirected": (redirected, "lib has changed since it was stored"),
    "exchanged": (exchanged, "lib.so has changed since it was stored"),
    "no program": (
        lambda folder: (folder / "bin" / "program").chmod(0o600),
        "bin/program has changed since it was stored",
    ),
    "file open to others": (lambda folder: (folder / "lib.so").chmod(0o620), "lib.so can be written to by others"),
    "folder open to others": (lambda folder: (folder / "bin").chmod(0o777), "bin can be written to by others"),
    "all open to others": (lambda folder: folder.chmod(0o777), "it can be written to by others"),
    "a pipe": (piped, "lib.so is not a regular file"),
    "no manifest": (lambda folder: (folder / manifest.NAME).unlink(), "it has no manifest.json"),
    "half a manifest": (lambda folder: os.truncate(folder / manifest.NAME, 90), "manifest.json cannot be read"),
}


def test_an_untouched_folder_is_whole(stored: Path) -> None:
    assert manifest.damage(stored) is None


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(stored: Path, name: str) -> None:
    action, expected = DAMAGES[name]
    action(stored)
    assert manifest.damage(stored) == expected


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", '"x"', "{}", '{"version": 1}', '{"version": 1, "files": []}', '{"version": 9, "files": {}}'],
)
def test_a_manifest_of_another_shape_is_damage(stored: Path, text: str) -> None:
    (stored / manifest.NAME).write_text(text)
    assert manifest.damage(stored) == "manifest.json cannot be read"


def test_a_file_of_another_user_is_damage(stored: Path, give_away: Callable[[Path], None]) -> None:
    """He may have put it there while the folder was open to him, and his hash beside it."""
    give_away(stored / "bin" / "program")
    assert str(manifest.damage(stored)).endswith("belongs to another user")


def test_a_link_in_place_of_the_folder_is_damage(stored: Path) -> None:
    (stored.parent / "link").symlink_to(stored)
    assert manifest.damage(stored.parent / "link") is not None


def test_storing_takes_the_right_to_write_from_others(tmp_path: Path) -> None:
    """A umask such as 002 gives it, and outside of a private folder it is another user's to change the file."""
    (tmp_path / "entry").mkdir()
    (tmp_path / "entry" / "lib.so").touch()
    (tmp_path / "entry" / "lib.so").chmod(0o666)
    manifest.write(tmp_path / "entry")
    assert (tmp_path / "entry" / "lib.so").stat().st_mode & 0o777 == 0o644
    assert manifest.damage(tmp_path / "entry") is None


def test_names_of_any_bytes_are_remembered(tmp_path: Path) -> None:
    (tmp_path / "entry").mkdir(mode=0o700)
    Path(os.fsdecode(os.fsencode(tmp_path / "entry") + b'/\xff\n".h')).touch(0o600)
    manifest.write(tmp_path / "entry")
    assert manifest.damage(tmp_path / "entry") is None
