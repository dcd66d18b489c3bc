"""The output folder: what others have put there, who else writes there, what its manifest may say, links to it."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import ROOT
from torchada.cli import main
from torchada.porting import PortingError, output_folder, port_tree
from torchada.porting.scan import MANIFEST

pytestmark = pytest.mark.once

SOURCES = {"a.cu": b"cudaFree();\n", "sub/b.cuh": b"cudaMalloc();\n", "setup.py": b"print()\n"}
PORTED = {"a.mu": b"musaFree();\n", "sub/b.muh": b"musaMalloc();\n", "setup.py": b"print()\n"}


def write(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "project", SOURCES)


@pytest.fixture
def out(project: Path, tmp_path: Path) -> Path:
    port_tree(project, tmp_path / "out")
    return tmp_path / "out"


def change(project: Path) -> None:
    """So that the folder has to be written again."""
    (project / "a.cu").write_bytes(b"cudaMalloc(1);\n")


CHANGED = {**PORTED, "a.mu": b"musaMalloc(1);\n"}


def run(*arguments: object) -> int:
    return main(["port", *map(str, arguments)])


class TestFilesOfOthers:
    MINE = {
        "notes.txt": b"1",
        ".git/config": b"2",
        ".git/refs/heads/x": b"3",
        "sub/mine.txt": b"4",
        "sub/deep/er.o": b"5",
    }

    def test_port_keeps_what_it_did_not_write(self, project: Path, out: Path, tmp_path: Path) -> None:
        write(out, self.MINE)
        (out / "link").symlink_to("nowhere")
        (out / "empty").mkdir()
        inode = (out / ".git").stat().st_ino
        change(project)
        port_tree(project, out)
        assert contents(out) == {**CHANGED, **self.MINE}
        assert os.readlink(out / "link") == "nowhere" and (out / "empty").is_dir()
        assert (out / ".git").stat().st_ino == inode, "a folder of others is moved as a whole"
        assert sorted(os.listdir(tmp_path)) == ["out", "project"]

    def test_port_keeps_what_is_beside_a_file_that_is_gone(self, project: Path, out: Path) -> None:
        write(out, self.MINE)
        (project / "sub/b.cuh").unlink()
        port_tree(project, out)
        assert contents(out) == {"a.mu": PORTED["a.mu"], "setup.py": PORTED["setup.py"], **self.MINE}

    def test_an_edited_file_stops_port_with_its_name(
        self, project: Path, out: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (out / "sub/b.muh").write_bytes(b"by hand")
        change(project)
        before = contents(out)
        assert run(project, "-o", out) == 2
        error = capsys.readouterr().err
        assert "nothing was written" in error and "--force" in error and error.endswith(":\n  sub/b.muh\n")
        assert contents(out) == before
        assert run(project, "-o", out, "--force") == 0
        assert contents(out) == CHANGED

    def test_an_edited_file_whose_source_is_gone_is_not_deleted(self, project: Path, out: Path) -> None:
        (out / "sub/b.muh").write_bytes(b"by hand")
        (project / "sub/b.cuh").unlink()
        with pytest.raises(PortingError, match=r"sub/b\.muh"):
            port_tree(project, out)
        assert (out / "sub/b.muh").read_bytes() == b"by hand"

    def test_a_file_with_another_time_alone_is_not_an_edited_one(self, project: Path, out: Path) -> None:
        for name in PORTED:
            os.utime(out / name, (1, 1))
        change(project)
        port_tree(project, out)
        assert contents(out) == CHANGED

    @pytest.mark.parametrize("name", ["new.mu", "inner"])
    def test_a_file_in_the_way_of_a_new_one_stops_port(self, name: str, project: Path, out: Path) -> None:
        write(project, {"new.cu": b"cudaFree();\n", "inner/c.h": b""})
        write(out, {name: b"theirs"})
        with pytest.raises(PortingError, match=f":\n  {name}$"):
            port_tree(project, out)
        assert contents(out) == {**PORTED, name: b"theirs"}
        port_tree(project, out, force=True)
        assert contents(out) == {**PORTED, "new.mu": b"musaFree();\n", "inner/c.h": b""}

    def test_force_deletes_no_folder(self, project: Path, out: Path) -> None:
        write(project, {"new.cu": b""})
        write(out, {"new.mu/theirs": b"1"})
        with pytest.raises(PortingError, match=r"these folders stand where files are to be written:\n  new\.mu"):
            port_tree(project, out, force=True)
        assert contents(out) == {**PORTED, "new.mu/theirs": b"1"}

    def test_a_folder_of_others_is_written_to_with_force_alone(self, project: Path, tmp_path: Path) -> None:
        theirs = write(tmp_path / "theirs", {"a.mu": b"1", "precious": b"2"})
        with pytest.raises(PortingError, match=r"was not made by this command(.|\n)*except these:\n  a.mu$"):
            port_tree(project, theirs)
        assert contents(theirs) == {"a.mu": b"1", "precious": b"2"}
        port_tree(project, theirs, force=True)
        assert contents(theirs) == {**PORTED, "precious": b"2"}

    def test_what_comes_while_port_writes_is_kept(
        self, project: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        take_place = output_folder._take_place

        def meanwhile(folder: Path, new: Path) -> Path | None:
            write(out, {"late.txt": b"1"})
            return take_place(folder, new)

        monkeypatch.setattr(output_folder, "_take_place", meanwhile)
        change(project)
        port_tree(project, out)
        assert contents(out) == {**CHANGED, "late.txt": b"1"}

    def test_an_interrupt_after_the_exchange_deletes_nothing(
        self, project: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        take_place = output_folder._take_place

        def interrupted(folder: Path, new: Path) -> Path | None:
            take_place(folder, new)
            raise KeyboardInterrupt

        write(out, self.MINE)
        change(project)
        monkeypatch.setattr(output_folder, "_take_place", interrupted)
        with pytest.raises(KeyboardInterrupt):
            port_tree(project, out)
        left = next(path for path in tmp_path.iterdir() if path.name.startswith(".out."))
        assert contents(left) == {**PORTED, **self.MINE} and contents(out) == CHANGED


class TestConcurrentPorts:
    def test_all_of_many_succeed_and_the_folder_is_never_absent(self, project: Path, out: Path, tmp_path: Path) -> None:
        """Each has rules of its own, so each writes the whole folder."""
        code = (
            "import sys; from torchada.porting import Project, port_tree\n"
            "for n in range(4): port_tree(sys.argv[1], sys.argv[2], Project(names={'X': f'Y{sys.argv[3]}{n}'}))"
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-W", "error", "-c", code, str(project), str(out)]
        running = [subprocess.Popen([*command, str(at)], env=environment, stderr=subprocess.PIPE) for at in range(6)]
        absent = looked = 0
        while any(each.poll() is None for each in running):
            looked += 1
            absent += not (out / "a.mu").exists()
        errors = [each.communicate()[1].decode() for each in running]
        assert [each.returncode for each in running] == [0] * 6, errors
        assert looked and (absent == 0 or not exchanges(tmp_path))
        assert contents(out) == PORTED
        assert sorted(os.listdir(tmp_path)) == ["out", "project"], "no lock and no temporary folder stays"

    def test_a_port_waits_for_another_and_says_so(
        self, project: Path, out: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        change(project)
        with output_folder.locked(out):
            thread = threading.Thread(target=port_tree, args=(project, out))
            thread.start()
            while "waiting for another process that ports into" not in capfd.readouterr().err:
                assert thread.is_alive()
            assert contents(out) == PORTED
        thread.join()
        assert contents(out) == CHANGED

    def test_the_lock_is_had_on_a_file_system_that_locks_only_what_can_be_written(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As NFS does, by flock(2)."""
        held: list[int] = []

        def flock(descriptor: int, how: int) -> None:
            if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            held.append(how)

        monkeypatch.setattr(fcntl, "flock", flock)
        with output_folder.locked(out):
            assert held == [fcntl.LOCK_EX | fcntl.LOCK_NB]

    def test_what_others_have_under_way_is_no_part_of_a_tree(self, project: Path) -> None:
        write(project, {"build/.musa.x.torchada-porting/a.cu": b"", "build/.musa.torchada-lock": b""})
        port_tree(project, project / "build" / "musa")
        assert contents(project / "build/musa") == PORTED

    @pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL])
    def test_without_an_exchange_two_renames_do_it(
        self, number: int, project: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Library:
            def __init__(self, *_: object, **__: object) -> None:
                pass

            def renameat2(self, *_: object) -> int:
                ctypes.set_errno(number)
                return -1

        monkeypatch.setattr(ctypes, "CDLL", Library)
        write(out, {"notes": b"1"})
        change(project)
        port_tree(project, out)
        assert contents(out) == {**CHANGED, "notes": b"1"}
        assert sorted(os.listdir(tmp_path)) == ["out", "project"]

    def test_where_the_second_rename_fails_the_old_folder_comes_back(
        self, project: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rename = os.rename

        def refuse(source: Path, target: Path) -> None:
            if Path(target) == out and (Path(source) / "a.mu").read_bytes() == CHANGED["a.mu"]:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(target))
            rename(source, target)

        monkeypatch.setattr(output_folder, "_exchanged", lambda one, other: False)
        monkeypatch.setattr(os, "rename", refuse)
        change(project)
        with pytest.raises(PortingError, match="nothing was written: Input/output error"):
            port_tree(project, out)
        assert contents(out) == PORTED and sorted(os.listdir(tmp_path)) == ["out", "project"]


def exchanges(folder: Path) -> bool:
    """Whether the file system can exchange two names."""
    one, other = folder / "exchange-one", folder / "exchange-other"
    one.mkdir()
    other.mkdir()
    try:
        return output_folder._exchanged(one, other)
    finally:
        one.rmdir()
        other.rmdir()


def record(found: dict[str, Any]) -> dict[str, Any]:
    each: dict[str, Any] = found["files"]["a.cu"]
    return each


MUTATIONS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a list": lambda found: [],
    "null": lambda found: None,
    "a number": lambda found: 1,
    "no files": lambda found: found.pop("files") and found,
    "files are a list": lambda found: {**found, "files": []},
    "a record is null": lambda found: {**found, "files": {"a.cu": None}},
    "a record without target": lambda found: record(found).pop("target") and found,
    "a target is a number": lambda found: record(found).update(target=1) or found,
    "a stamp is text": lambda found: record(found).update(stamp="x") or found,
    "findings of another shape": lambda found: record(found).update(findings=[[1]]) or found,
    "when is null": lambda found: {**found, "when": None},
    "key is a list": lambda found: {**found, "key": []},
    "format is a list": lambda found: {**found, "format": [1]},
    "replacements are text": lambda found: record(found).update(replacements="1") or found,
    "another version": lambda found: {**found, "format": 99},
}
TEXTS = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "nothing": b"",
    "deep": b"[" * 200_000,
    "a long number": b'{"when": ' + b"1" * 10_000 + b"}",
}


class TestManifest:
    @pytest.mark.parametrize("name", [*MUTATIONS, *TEXTS])
    def test_one_of_another_shape_counts_as_absent_with_a_warning(
        self, name: str, project: Path, out: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = out / MANIFEST
        if name in TEXTS:
            file.write_bytes(TEXTS[name])
        else:
            file.write_text(json.dumps(MUTATIONS[name](json.loads(file.read_text()))))
        change(project)
        assert run(project, "-o", out) == 2
        error = capsys.readouterr().err
        assert f"{file} is damaged" in error and "was not made by this command" in error
        assert contents(out) == PORTED
        assert run(project, "-o", out, "--force") == 0
        assert contents(out) == CHANGED
        assert run(project, "-o", out) == 0

    def test_one_that_names_places_elsewhere_leads_nowhere(self, project: Path, out: Path, tmp_path: Path) -> None:
        (tmp_path / "victim").write_bytes(b"1")
        found = json.loads((out / MANIFEST).read_text())
        found["files"]["x.cu"] = {**record(found), "target": "../victim"}
        found["files"]["a.cu"] = {**record(found), "target": "../victim"}
        (out / MANIFEST).write_text(json.dumps(found))
        port_tree(project, out, force=True)
        assert (tmp_path / "victim").read_bytes() == b"1" and contents(out) == PORTED


class TestLinkedFolders:
    def test_port_writes_where_a_link_leads(self, project: Path, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "out").symlink_to("real")
        for _ in range(2):
            assert port_tree(project, tmp_path / "out").output == tmp_path / "out"
            assert os.readlink(tmp_path / "out") == "real"
            change(project)
        assert contents(tmp_path / "real") == CHANGED
        assert sorted(os.listdir(tmp_path)) == ["out", "project", "real"]

    def test_port_makes_the_folder_that_a_link_leads_to(self, project: Path, tmp_path: Path) -> None:
        (tmp_path / "out").symlink_to("later")
        port_tree(project, tmp_path / "out")
        assert contents(tmp_path / "later") == PORTED

    def test_port_refuses_a_link_to_a_file(self, project: Path, tmp_path: Path) -> None:
        (tmp_path / "out").symlink_to("project/a.cu")
        with pytest.raises(PortingError, match="is not a folder"):
            port_tree(project, tmp_path / "out")
        assert contents(project) == SOURCES
