"""The folder that builds take for CUDA is executed: nobody but the user may have put anything there, and nothing may be damaged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.toolkits import musa
from torchada.building import cuda_home as module
from torchada.building.cuda_home import cuda_home
from torchada.building.errors import BuildError
from torchada.building.flags import translate
from torchada.building.nvcc import Line, run
from torchada.building.ported import Copies
from torchada.building.toolkit import Toolkit
from torchada.building.torch_package import torch_package

pytestmark = pytest.mark.once

ANOTHER = 54321
PLANTED = "#!/bin/sh\necho planted\n"


@pytest.fixture
def toolkit(tmp_path: Path) -> Toolkit:
    home = tmp_path / "musa"
    for folder in ("bin", "include", "lib"):
        (home / folder).mkdir(parents=True)
    (home / "include" / "musa_runtime.h").touch()
    (home / "bin" / "mcc").write_text('#!/bin/sh\necho mcc "$@"\n')
    (home / "bin" / "mcc").chmod(0o755)
    return musa(str(home))


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the folder is by default."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    module._temporary.cache_clear()
    yield tmp_path / "caches" / "torchada" / "cuda-home"
    module._temporary.cache_clear()


def made(toolkit: Toolkit, chosen: str | None = None) -> Path:
    home = cuda_home(toolkit, chosen)
    assert home is not None
    return Path(home)


def version(home: Path) -> str:
    """What the nvcc in it says."""
    return subprocess.run([home / "bin" / "nvcc", "--version"], capture_output=True, text=True, check=True).stdout


def test_the_folder_lies_where_the_variable_of_torchada_says(toolkit: Toolkit, caches: Path, tmp_path: Path) -> None:
    assert made(toolkit).parent == caches
    assert made(toolkit, str(tmp_path / "chosen")).parent == tmp_path / "chosen" / "cuda-home"
    assert "torchada" in version(made(toolkit))


def test_every_place_in_which_builds_look_for_the_version_has_the_same(toolkit: Toolkit) -> None:
    """CMake asks nvcc, and Meson reads a file: without it, it took a toolkit of NVIDIA's that lay on the machine."""
    home = made(toolkit)
    assert "release 11.8, V11.8.0" in version(home)
    assert (home / "version.txt").read_text() == "CUDA Version 11.8.0\n"
    assert '"version": "11.8.0"' in (home / "version.json").read_text()
    (target,) = (home / "targets").glob("*-linux")
    assert (target / "include").samefile(home / "include") and (target / "lib").samefile(home / "lib64")


def test_a_linker_finds_the_libraries_of_a_toolkit_whose_folder_has_a_blank(toolkit: Toolkit, tmp_path: Path) -> None:
    folder = tmp_path / "my musa, new"
    (tmp_path / "musa").rename(folder)
    source = tmp_path / "main.c"
    for name in ("musart", "mublas"):
        source.write_text(f"int of_{name}(void) {{ return 0; }}")
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", folder / "lib" / f"lib{name}.so"], check=True)
    libraries = made(musa(str(folder))) / "lib64"
    source.write_text("int of_musart(void), of_mublas(void); int main(void) { return of_musart() + of_mublas(); }")
    for runtime in ("-lcudart", "-l:libcudart_static.a"):
        command = ["cc", source, f"-L{libraries}", "-lcublas", runtime, "-o", tmp_path / "main"]
        linked = subprocess.run(command, capture_output=True, text=True)
        assert linked.returncode == 0, linked.stderr


def test_paths_in_the_package_for_cmake_are_one_word_with_a_blank(toolkit: Toolkit, tmp_path: Path) -> None:
    """What stands in CMake without quotes is two words there."""
    library = tmp_path / "musa" / "lib" / "libmusart.so"
    library.touch()
    (tmp_path / "musa").rename(tmp_path / "my musa")
    folders = [str(tmp_path / "my musa" / "lib")]
    named = replace(musa(str(tmp_path / "my musa")), library_dirs=lambda: folders, include_dirs=lambda: folders)
    package = torch_package(named, str(tmp_path / "my home"), str(tmp_path / "my torch"), str(tmp_path / "chosen"))
    text = (Path(package) / "Torch" / "TorchConfig.cmake").read_text()
    assert f'"{folders[0]}/{library.name}"' in text
    code = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert " musa" not in re.sub(r'"[^"]*"', "", code) and " home" not in re.sub(r'"[^"]*"', "", code)


def test_the_variables_of_nvcc_add_flags_in_front_and_at_the_end(toolkit: Toolkit, tmp_path: Path) -> None:
    (tmp_path / "x.cu").touch()

    def compiled(**variables: str) -> subprocess.CompletedProcess[str]:
        command = [
            made(toolkit) / "bin" / "nvcc",
            "-c",
            "-O3",
            "-arch=sm_80",
            tmp_path / "x.cu",
            "-o",
            tmp_path / "x.o",
        ]
        environment = {**os.environ, **variables, "TORCH_MUSA_ARCH_LIST": "31"}
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    words = compiled(NVCC_PREPEND_FLAGS="-DA='1 2'", NVCC_APPEND_FLAGS="-O1 --use_fast_math").stdout.split()
    assert words.index("-DA=1") < words.index("-O3") < words.index("-O1") < words.index("-ffast-math")
    assert not {"-O1", "-ffast-math"} & set(compiled().stdout.split())
    failed = compiled(NVCC_APPEND_FLAGS="'open")
    assert failed.returncode == 1 and "NVCC_APPEND_FLAGS is no list of flags" in failed.stderr


def test_an_optimisation_without_a_level_takes_no_source(toolkit: Toolkit) -> None:
    line = Line.of(["-O", "a.cpp", "-c", "-O", "-o", "a.o"])
    assert (line.inputs, line.output) == ([1], "a.o")
    flags = translate(["-Xcompiler", "-O", "a.cu", "-O", "3", "-c"], toolkit).flags
    assert [flags[at] for at in Line.of(flags).inputs] == ["a.cu"] and "-O3" in flags


@pytest.mark.parametrize("output", ["/dev/null", "-"])
def test_nothing_is_written_beside_an_output_that_is_no_file(
    output: str, toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a script that asks whether something compiles has it."""
    monkeypatch.chdir(tmp_path)
    assert Line.of(["-c", "x.cu", "-o", output]).folder() is None
    assert Line.of(["-c", "x.cu", "-o", "x.o"]).folder() == str(tmp_path / ".torchada" / "x.o")


@pytest.mark.parametrize(
    ("flags", "file"),
    [
        (["-MD", "-c", "sub/a.mu"], "a.d"),
        (["-MMD", "-c", "sub/a.mu", "-o", "x.o"], "x.d"),
        (["-MMD", "-c", "sub/a.mu", "-ox.o"], "x.d"),
        (["-MD", "-MF", "y.d", "-c", "sub/a.mu", "-ox.o"], "y.d"),
        (["-MD", "-MFy.d", "-c", "sub/a.mu", "-ox.o"], "y.d"),
    ],
)
def test_rules_for_make_name_the_originals_wherever_they_are_written(
    flags: list[str], file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise make looks at our copies, and compiles nothing anew where the user's files have changed."""
    monkeypatch.chdir(tmp_path)
    copies = Copies("/p", str(tmp_path / "copies"), {"/p/a.cu": "a.mu"}, [])
    (tmp_path / file).write_text(f"a.o: {tmp_path}/copies/a.mu\n")
    assert run(["true"], copies, flags) == 0
    assert (tmp_path / file).read_text() == "a.o: /p/a.cu\n"


def plant(nvcc: Path) -> None:
    nvcc.write_text(PLANTED)


def plant_anew(nvcc: Path) -> None:
    nvcc.unlink()
    nvcc.write_text(PLANTED)
    nvcc.chmod(0o755)


def plant_a_link(nvcc: Path) -> None:
    nvcc.with_name("other").write_text(PLANTED)
    nvcc.unlink()
    nvcc.symlink_to("other")


def truncate(nvcc: Path) -> None:
    os.truncate(nvcc, 10)


@pytest.mark.parametrize("change", [plant, plant_anew, plant_a_link, truncate])
def test_an_nvcc_that_is_not_ours_is_made_anew(
    toolkit: Toolkit, capsys: pytest.CaptureFixture[str], change: object
) -> None:
    home = made(toolkit)
    change(home / "bin" / "nvcc")  # type: ignore[operator]
    assert made(toolkit) == home and "torchada" in version(home)
    assert "is rebuilt: bin/" in capsys.readouterr().err
    assert not (home / "bin" / "other").exists()


def test_a_header_that_was_put_there_is_removed(toolkit: Toolkit) -> None:
    home = made(toolkit)
    (home / "include" / "vector").write_text("#error planted\n")
    assert made(toolkit) == home and not (home / "include" / "vector").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("part", ["..", ".", "bin", "bin/nvcc", "torchada.json"])
def test_a_folder_of_another_user_is_not_used(
    toolkit: Toolkit, caches: Path, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    home = made(toolkit)
    (home / "bin" / "nvcc").write_text(PLANTED)
    os.chown(home / part, ANOTHER, ANOTHER)
    again = made(toolkit)
    assert "torchada" in version(again)
    assert (again == home) is (part != ".."), "where the cache itself is another's, it is left alone"
    assert "belongs to another user" in capsys.readouterr().err


@pytest.mark.parametrize("level", ["torchada", "torchada/cuda-home"])
def test_a_folder_that_others_can_write_to_is_not_used(
    toolkit: Toolkit, caches: Path, capsys: pytest.CaptureFixture[str], level: str
) -> None:
    """The build goes on with a temporary folder, and says why; where the user has named the folder, it ends."""
    home = made(toolkit)
    (caches.parent.parent / level).chmod(0o777)
    temporary = made(toolkit)
    assert home not in (temporary, *temporary.parents) and "torchada" in version(temporary)
    assert made(toolkit) == temporary, "one for each process"
    said = capsys.readouterr().err
    assert said.count("TORCHADA_CACHE_DIR") == 1 and "chmod go-w" in said
    with pytest.raises(BuildError, match=r"can be written to by others.* TORCHADA_CACHE_DIR"):
        cuda_home(toolkit, str(caches.parent))


def test_a_cache_that_cannot_be_written_to_gives_a_temporary_folder(
    toolkit: Toolkit, caches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    caches.parent.parent.touch()
    assert "torchada" in version(made(toolkit))
    assert "TORCHADA_CACHE_DIR" in capsys.readouterr().err
    with pytest.raises(BuildError, match="TORCHADA_CACHE_DIR"):
        cuda_home(toolkit, str(caches.parent))


def test_a_user_without_a_home_gets_advice(
    toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    assert "torchada" in version(made(toolkit))
    assert "set TORCHADA_CACHE_DIR to a folder of your own, or HOME, or XDG_CACHE_HOME" in capsys.readouterr().err


def test_a_temporary_folder_goes_with_the_process_that_made_it(tmp_path: Path) -> None:
    """And not with a child of it."""
    code = """
        import os, sys
        from torchada.base.caches import temporary
        cache = temporary("cuda-home")
        home = cache.get("entry", lambda place: None)
        if os.fork() == 0:
            sys.exit()
        os.wait()
        print(home.is_dir(), home)
    """
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"True {tmp_path}/torchada-")
    assert list(tmp_path.iterdir()) == []
