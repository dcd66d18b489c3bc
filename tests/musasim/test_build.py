"""The simulator's build: compiled once, safely, with helpful messages. A stand-in for ninja makes it fast."""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from _torchada_cache import folders
from musasim import __main__ as command_line
from musasim import build
from musasim.base import cache, toolchain
from musasim.errors import MusasimBuildError
from support.waiting import wait_for

pytestmark = pytest.mark.once

# It behaves like a build as far as the rest can see: it takes a moment, counts its calls and leaves a library.
# The shell finds the interpreter, because the kernel finds none whose path has a space.
FAKE_NINJA = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import os, sys, time
with open(os.environ["BUILDS"], "a") as log:
    log.write("built\\n")
time.sleep(float(os.environ.get("BUILD_SECONDS", "0")))
print(os.environ.get("BUILD_OUTPUT", "[1/5] compile"))
for name in ("_MUSAC.so", "libmusa_kernels.so", "libmusa_python.so", "libmusart.so"):
    open(name, "w").write("library")
sys.exit(int(os.environ.get("BUILD_STATUS", "0")))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUSASIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def fake_ninja(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the fake ninja first on PATH, and return its log of builds."""
    script = tmp_path / "bin" / "ninja"
    script.parent.mkdir()
    script.write_text(FAKE_NINJA.format(python=sys.executable))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BUILDS", str(tmp_path / "builds"))
    return tmp_path / "builds"


def leftovers(place: Path) -> list[Path]:
    return list(place.glob("tmp-*"))


def start_build(**env: str) -> subprocess.Popen[str]:
    code = "from musasim.build import build; print(build())"
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background job and its children ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


class TestCacheFolder:
    def test_cache_folder_is_chosen_in_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MUSASIM_CACHE_DIR", "/a")
        monkeypatch.setenv("XDG_CACHE_HOME", "/b")
        monkeypatch.setenv("HOME", "/c")
        assert cache.cache_path() == Path("/a")
        monkeypatch.delenv("MUSASIM_CACHE_DIR")
        assert cache.cache_path() == Path("/b/musasim")
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache.cache_path() == Path("/c/.cache/musasim")

    def test_the_cache_is_private(self, fake_ninja: Path, place: Path) -> None:
        build.build()
        assert stat.S_IMODE(place.stat().st_mode) == 0o700

    @pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
    def test_a_cache_that_others_can_write_to_is_refused(self, place: Path, mode: int) -> None:
        place.mkdir()
        place.chmod(mode)
        with pytest.raises(
            MusasimBuildError, match=r"can be written to by others; run `chmod go-w .* MUSASIM_CACHE_DIR"
        ):
            build.build()

    def test_the_cache_of_another_user_is_refused(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        place.mkdir(mode=0o700)
        monkeypatch.setattr(folders, "is_trusted", lambda owner: False)
        with pytest.raises(MusasimBuildError, match="belongs to another user"):
            build.build()

    def test_no_home_and_no_entry_in_the_list_of_users_gives_advice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("MUSASIM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
        with pytest.raises(MusasimBuildError, match="set MUSASIM_CACHE_DIR to a folder of your own, or HOME"):
            build.build()

    def test_a_folder_that_cannot_be_created_gives_advice(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("MUSASIM_CACHE_DIR", str(tmp_path / "file" / "cache"))
        with pytest.raises(
            MusasimBuildError, match=r"the cache .* of musasim cannot be used: .* set MUSASIM_CACHE_DIR"
        ):
            build.build()

    def test_a_file_in_place_of_the_cache_is_an_error(self, place: Path) -> None:
        place.touch(mode=0o600)
        with pytest.raises(MusasimBuildError, match="Not a directory"):
            build.build()


class TestToolchain:
    def test_a_missing_compiler_gives_advice(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(MusasimBuildError, match=r"no C\+\+ compiler .* Install one .* or set CXX"):
            build.build()

    def test_cxx_is_honoured(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CXX", "/no/such/compiler -O0")
        with pytest.raises(MusasimBuildError, match="CXX=/no/such/compiler -O0"):
            build.build()
        monkeypatch.setenv("CXX", f"{shlex.quote(sys.executable)} -x c++")
        assert toolchain.find_compiler() == [sys.executable, "-x", "c++"]

    def test_a_missing_ninja_gives_advice(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CXX", shlex.quote(sys.executable))
        monkeypatch.setenv("PATH", "/nowhere")
        find_spec = toolchain.importlib.util.find_spec
        monkeypatch.setattr(
            toolchain.importlib.util, "find_spec", lambda name: None if name == "ninja" else find_spec(name)
        )
        with pytest.raises(MusasimBuildError, match=r"no ninja. Run `pip install ninja`"):
            build.build()

    def test_ninja_is_found_in_its_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("ninja", reason="needs the ninja package")
        monkeypatch.setenv("PATH", "/nowhere")
        assert Path(toolchain.find_ninja()).exists()

    def test_a_missing_torch_gives_advice(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(MusasimBuildError, match="needs PyTorch, which is not installed"):
            build.build()


class TestBuilding:
    def test_sources_are_compiled_once(self, fake_ninja: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
        library = build.build()
        assert library == build.build() and library.read_text() == "library"
        assert fake_ninja.read_text().count("built") == 1
        assert capfd.readouterr().err.count("musasim: compiling for torch") == 1
        assert not leftovers(place)

    def test_two_processes_build_once(self, fake_ninja: Path) -> None:
        first = start_build(BUILD_SECONDS="1")
        wait_for(fake_ninja.exists)
        second = start_build()
        results = [process.communicate(timeout=60) for process in (first, second)]
        assert first.returncode == second.returncode == 0 and results[0][0] == results[1][0]
        assert fake_ninja.read_text().count("built") == 1
        assert results[1][1].strip() == "musasim: waiting for another process that is compiling ..."

    def test_builds_for_different_torches_do_not_wait(self, fake_ninja: Path, place: Path) -> None:
        first = start_build(BUILD_SECONDS="30")
        wait_for(fake_ninja.exists)
        other = "import musasim.build as b; b._source_hash = lambda: 'another'; print(b.build())"
        done = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0 and "waiting" not in done.stderr, done.stderr
        assert first.poll() is None and len(leftovers(place)) == 1  # its workspace is not mistaken for a killed build's
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()

    def test_a_killed_build_leaves_no_lock(self, fake_ninja: Path, place: Path) -> None:
        process = start_build(BUILD_SECONDS="30")
        wait_for(fake_ninja.exists)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert leftovers(place)
        assert build.build().exists()
        assert not leftovers(place)

    def test_an_interrupted_build_cleans_up(self, fake_ninja: Path, place: Path) -> None:
        process = start_build(BUILD_SECONDS="30")
        wait_for(fake_ninja.exists)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode != 0 and not leftovers(place)
        assert not list(place.glob("*/_MUSAC.so"))

    def test_a_failed_build_reports_the_reason_and_is_retried(
        self, fake_ninja: Path, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BUILD_STATUS", "1")
        monkeypatch.setenv("BUILD_OUTPUT", "ops.cpp:1: error: something is wrong")
        with pytest.raises(MusasimBuildError, match=r"(?s)ops.cpp:1: error: something is wrong.*Please report"):
            build.build()
        assert not leftovers(place) and not list(place.glob("*/_MUSAC.so"))
        monkeypatch.setenv("BUILD_STATUS", "0")
        assert build.build().exists()

    @pytest.mark.parametrize(
        ("output", "advice"),
        [
            ("fatal error: error writing to x.s: No space left on device", "The disk is full"),
            ("x.s: Fatal error: can't write 32 bytes: Disk quota exceeded", "Your quota is used up"),
            ("g++: fatal error: Killed signal terminated program cc1plus", "not enough memory"),
            ("fatal error: Python.h: No such file or directory", "python3-dev"),
            ("g++: error: unrecognized command line option '-std=c++20'", "does not support C\\+\\+20"),
        ],
    )
    def test_a_failed_build_gives_advice(
        self, fake_ninja: Path, monkeypatch: pytest.MonkeyPatch, output: str, advice: str
    ) -> None:
        monkeypatch.setenv("BUILD_STATUS", "1")
        monkeypatch.setenv("BUILD_OUTPUT", output)
        with pytest.raises(MusasimBuildError, match=advice):
            build.build()

    def test_a_full_disk_is_reported(self, fake_ninja: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(Path, "write_text", full)
        with pytest.raises(MusasimBuildError, match="no space left on the disk"):
            build.build()

    def test_the_real_compilers_errors_are_shown(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CXX", f"{toolchain.find_compiler()[0]} -no-such-option-at-all")
        with pytest.raises(MusasimBuildError, match=r"(?s)compiling for torch .* failed.*no-such-option-at-all"):
            build.build()

    def test_changed_sources_are_compiled_again(
        self, fake_ninja: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = build.build()
        (tmp_path / "native").mkdir()
        (tmp_path / "native" / "one.cpp").write_text("int one;")
        monkeypatch.setattr(build, "_SOURCES", tmp_path / "native")
        assert build.build() != before
        assert fake_ninja.read_text().count("built") == 2


class TestDamage:
    @pytest.mark.parametrize("name", ["_MUSAC.so", "libmusart.so", "manifest.json"])
    @pytest.mark.parametrize("length", [0, 3])
    def test_a_truncated_file_is_compiled_again(
        self, fake_ninja: Path, capfd: pytest.CaptureFixture[str], name: str, length: int
    ) -> None:
        """Loading half a library ends the process with SIGBUS."""
        library = build.build()
        file = library.with_name(name)
        file.write_bytes(file.read_bytes()[:length])
        assert build.build() == library and library.read_text() == "library"
        assert fake_ninja.read_text().count("built") == 2
        assert name in capfd.readouterr().err
        build.build()
        assert fake_ninja.read_text().count("built") == 2

    def test_a_flipped_bit_is_found_though_size_and_time_are_the_same(self, fake_ninja: Path) -> None:
        library = build.build()
        before = library.stat()
        library.write_text("librarz")
        os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert build.build().read_text() == "library"

    def test_a_library_that_cannot_be_loaded_gives_advice(self, fake_ninja: Path) -> None:
        with pytest.raises(MusasimBuildError, match="python -m musasim clean"):
            build._import(build.build())

    @pytest.mark.full
    def test_the_extension_loads_after_half_of_it_was_lost(self, tmp_path: Path) -> None:
        """This uses copies of the real compiled libraries. A replacement for the build copies them, so nothing is compiled."""
        whole = build.build().parent
        copy = tmp_path / "cache" / whole.name
        shutil.copytree(whole, copy)
        (tmp_path / "cache").chmod(0o700)
        half = copy / "libmusa_python.so"
        half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
        code = (
            "import shutil, musasim.build as b;"
            f"b.Target.compile = lambda self, place: shutil.copytree({str(whole)!r}, place, dirs_exist_ok=True);"
            "import torch, torch_musa; print(torch_musa.device_count())"
        )
        env = {**os.environ, "MUSASIM_CACHE_DIR": str(tmp_path / "cache"), "TORCHADA_SIMULATE": "1"}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.split() == ["2"], done.stderr
        assert "libmusa_python.so has changed since it was stored" in done.stderr


class TestCommandLine:
    def test_info_shows_cache_and_hardware(
        self, place: Path, fake_ninja: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert command_line.main(["info"]) == 0
        shown = capsys.readouterr().out
        assert str(place) in shown and "built:              no" in shown and not place.exists()
        build.build()
        assert command_line.main(["info"]) == 0
        assert "_MUSAC.so" in capsys.readouterr().out

    def test_info_works_without_torch(
        self, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
        assert command_line.main(["info"]) == 0
        assert "pip install torch" in capsys.readouterr().out

    def test_build_reports_failure(
        self, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        assert command_line.main(["build"]) == 1
        assert "no C++ compiler" in capsys.readouterr().err

    def test_clean_removes_what_was_compiled(
        self, place: Path, fake_ninja: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert command_line.main(["clean"]) == 0 and not place.exists()
        build.build()
        (place / "tmp-old").mkdir()
        assert command_line.main(["clean"]) == 0
        assert "removed 1 build(s)" in capsys.readouterr().out
        assert [entry.name for entry in place.iterdir()] == ["lock"]

    def test_clean_waits_for_a_build(self, place: Path, fake_ninja: Path) -> None:
        build.build()
        with (place / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)  # as a build holds it
            cleaner = subprocess.Popen([sys.executable, "-m", "musasim", "clean"], stderr=subprocess.PIPE, text=True)
            assert cleaner.stderr is not None
            assert "waiting for another process" in cleaner.stderr.readline()
            assert list(place.glob("*/_MUSAC.so"))
        assert cleaner.wait(timeout=60) == 0
        cleaner.stderr.close()
        assert not list(place.glob("*/_MUSAC.so"))

    def test_wrong_usage_ends_with_exit_code_two(self) -> None:
        with pytest.raises(SystemExit) as caught:
            command_line.main(["paint"])
        assert caught.value.code == 2


class TestFinder:
    def run(self, code: str) -> str:
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    def test_importing_musasim_imports_no_torch(self) -> None:
        code = "import sys, musasim, musasim.build; musasim.install(); print('torch' in sys.modules)"
        assert self.run(code).strip() == "False"

    def test_only_torch_musa_is_found(self) -> None:
        from musasim.finder import find_spec

        spec = find_spec("torch_musa")
        assert spec is not None and spec.origin is not None and Path(spec.origin).exists()
        assert find_spec("torch_musa.core") is None and find_spec("torch") is None

    def test_install_is_last_idempotent_and_reversible(self) -> None:
        """The finder keeps its place when it is switched off: imports of other threads may be walking over the list."""
        code = """
        import sys, musasim
        before = list(sys.meta_path)
        for _ in range(2):
            musasim.install(), musasim.install()
            assert sys.meta_path[:-1] == before and sys.meta_path[-1].find_spec("torch_musa") is not None
            musasim.uninstall(), musasim.uninstall()
            assert sys.meta_path[:-1] == before and sys.meta_path[-1].find_spec("torch_musa") is None
        print("done")
        """
        assert self.run(textwrap.dedent(code)).strip() == "done"

    def test_a_real_torch_musa_wins(self, tmp_path: Path) -> None:
        (tmp_path / "torch_musa.py").write_text("real = True")
        code = (
            f"import sys, musasim; musasim.install(); sys.path.append({str(tmp_path)!r});"
            "import torch_musa; print(torch_musa.real)"
        )
        assert self.run(code).strip() == "True"


def test_the_folder_is_named_while_another_thread_asks_sysconfig_first() -> None:
    """Until Python 3.12, sysconfig's table is there before it has entries: the simulator was compiled once more, as "None"."""
    code = """
        from musasim import build
        target = build.Target(build.find_torch())
        right = target.folder
        import sysconfig
        sysconfig._CONFIG_VARS, sysconfig._CONFIG_VARS_INITIALIZED = {}, True
        assert sysconfig.get_config_var("SOABI") is None and target.folder == right and "cpython" in right, right
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=60, check=True)
