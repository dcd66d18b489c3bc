"""`torchada views` shows who sees CUDA and why, of what is installed and of scripts, and imports none of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter
from views.test_elf import library

pytestmark = pytest.mark.once

VIEWS = ["-m", "torchada", "views"]


@pytest.fixture
def site(plain: Interpreter, tmp_path: Path) -> Interpreter:
    """An interpreter with installed packages: one for CUDA, one that knows MUSA, one with a library, and others without torch."""
    packages = {
        "of_cuda": "",
        "of_musa": "\nkind = torch.musa",
        "binary": "",
        "optimum/quanto": "",
        "unrelated": "",
    }
    for name, text in packages.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('imported')\n{text}")
        install(tmp_path, name, "torch>=2" if name not in ("unrelated", "optimum/quanto") else "numpy")
    (tmp_path / "binary" / "_C.so").write_bytes(library(["libcudart.so.12", "libc.so.6"], is_64=True, order="<"))
    return Interpreter(env={"PYTHONPATH": str(tmp_path), "TORCHADA_CACHE_DIR": str(tmp_path / "cache")}, cwd=tmp_path)


def install(site: Path, package: str, needs: str) -> None:
    """Metadata of the distribution `the-PACKAGE 1.5`."""
    metadata = site / f"the_{package.replace('/', '_')}-1.5.dist-info"
    metadata.mkdir()
    name = metadata.name.partition("-")[0]
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\nRequires-Dist: {needs}\n")
    (metadata / "RECORD").write_text(f"{package}/__init__.py,,\n")


def rows(interpreter: Interpreter, *arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = interpreter.run([*VIEWS, "--json", *arguments], env=env)
    return {row.pop("package"): row for row in json.loads(done.stdout)["packages"]}


def test_packages_that_need_torch_or_have_a_row_are_listed_with_their_reasons(site: Interpreter) -> None:
    found = rows(site)
    views = {
        name: (row["view"], row["why"])
        for name, row in found.items()
        if row["distribution"] and "1.5" in row["distribution"]
    }
    assert views.pop("optimum.quanto")[0] == "musa"
    assert views == {
        "binary": ("cuda", "it does not mention MUSA"),
        "of_cuda": ("cuda", "it does not mention MUSA"),
        "of_musa": ("musa", "of_musa/__init__.py:3 says torch.musa"),
    }
    assert found["binary"]["nvidia_libraries"] == ["libcudart.so.12"] and found["of_cuda"]["nvidia_libraries"] == []
    assert found["of_cuda"]["distribution"] == "the_of_cuda 1.5"


def test_the_text_names_packages_whose_libraries_need_nvidias(site: Interpreter) -> None:
    out = site.run([*VIEWS, "of_cuda", "binary"]).stdout.splitlines()
    assert out[0].split(None, 2) == ["of_cuda", "cuda", "it does not mention MUSA"]
    assert out[2].startswith("binary: its libraries need libcudart.so.12;")
    assert out[2].endswith("TORCHADA_MUSA_VIEW=binary")


def test_quiet_prints_no_reasons_and_verbose_every_package(site: Interpreter) -> None:
    assert site.run([*VIEWS, "-q", "binary", "of_musa"]).stdout.split() == ["binary", "cuda", "of_musa", "musa"]
    assert "unrelated " in site.run([*VIEWS, "-v"]).stdout
    assert "unrelated " not in site.run(VIEWS).stdout


def test_a_script_is_judged_by_its_text(site: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise SystemExit\nprint('musa')")
    assert rows(site, "train.py")["train.py"]["why"] == f"{tmp_path / 'train.py'}:2 says musa"
    assert rows(site, "train.py", env={"TORCHADA_CUDA_VIEW": "__main__"})["train.py"]["view"] == "cuda"


def test_variables_are_respected(site: Interpreter) -> None:
    found = rows(site, "of_cuda", "of_musa", env={"TORCHADA_MUSA_VIEW": "of_cuda", "TORCHADA_VIEW": "cuda"})
    assert [(row["view"], row["why"]) for row in found.values()] == [
        ("musa", "TORCHADA_MUSA_VIEW names it"),
        ("cuda", "TORCHADA_VIEW=cuda"),
    ]


@pytest.mark.parametrize("name", ["nowhere", "nowhere.py", "of_cuda.nowhere", ".."])
def test_an_unknown_name_is_an_error(site: Interpreter, name: str) -> None:
    done = site.run([*VIEWS, name], check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert f"{name}: expected a package that can be imported, or a script that ends in .py" in done.stderr


def test_torch_is_not_imported(site: Interpreter) -> None:
    code = (
        "import sys\nfrom torchada.cli import main\nmain(['views'])\nassert not {'torch', 'wrapt'} & sys.modules.keys()"
    )
    site.run(code)


def test_torchadas_own_packages_are_none_of_the_users(plain: Interpreter) -> None:
    assert not {"torchada", "torch_battery", "torch_host", "musasim"} & rows(plain).keys()
