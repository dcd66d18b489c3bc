"""docs/extending.md, followed to the letter in an empty folder, and the example that it is about."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

import torchada
from support.distributions import Venv
from support.interpreter import ROOT
from support.toy import EXAMPLE, IS_POSSIBLE

pytestmark = [pytest.mark.once, pytest.mark.skipif(not IS_POSSIBLE, reason="this torch has no devices in Python")]

PAGE = (ROOT / "docs" / "extending.md").read_text()
# "`name`:" before a block is the file that holds it.
FILES = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
# Commands, and what they print where the page shows it.
COMMANDS = re.findall(r"^```sh\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", PAGE, re.MULTILINE | re.DOTALL)
TOY = {name: text for name, text in FILES.items() if not name.startswith("gpu_sort/")}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Venv]:
    """The folder with the files of the page, and an environment in which its packages are installed."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in FILES.items():
        file = folder / (name if name not in TOY else f"backend_toy/{name}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    venv = Venv.make(folder / "venv")
    venv.show_the_tests_packages()
    # torchada as it is tested. Path lines are read in the order of the files' names, before the line that starts it.
    (venv.site / "aa-torchada.pth").write_text(f"{Path(torchada.__file__).parent.parent}\n")
    shutil.copy(ROOT / "sitecustomize" / "torchada-init.pth", venv.site)
    for what in [line.split()[-1] for line in _lines() if line.startswith("pip install")]:
        venv.install(str(folder / what))
    return folder, venv


def _lines() -> list[str]:
    return [line for block, _ in COMMANDS for line in block.splitlines()]


def test_the_page_shows_the_files_of_the_example() -> None:
    files = (path for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".toml"))
    assert {str(path.relative_to(EXAMPLE)): path.read_text() for path in files} == TOY


@pytest.mark.parametrize("native", [pytest.param("0", marks=pytest.mark.slow), "1"])
def test_the_page_works_at_the_first_try(followed: tuple[Path, Venv], native: str) -> None:
    folder, venv = followed
    for block, expected in COMMANDS:
        printed = ""
        for line in filter(lambda line: not line.startswith("pip install"), block.splitlines()):
            settings, arguments = _parsed(line)
            env = {"TORCHADA_NATIVE": native, "TORCHADA_STRICT": "1", **settings}
            printed += venv.run("-W", "error", *arguments, env=env, cwd=folder) + "\n"
        assert not expected or printed == expected


@pytest.mark.full
def test_check_backend_says_of_the_installed_toy_what_the_page_shows(followed: tuple[Path, Venv]) -> None:
    folder, venv = followed
    last = venv.run("-m", "torchada.testing", "toy", cwd=folder).splitlines()[-1]
    assert f"```text\n{last}\n```" in PAGE


def _parsed(line: str) -> tuple[dict[str, str], list[str]]:
    """The variables that a command sets, and the arguments of its python."""
    words = shlex.split(line)
    settings = [word for word in words if re.fullmatch(r"\w+=.*", word)]
    command = words[len(settings) :]
    assert command[0] == "python"
    return dict(word.split("=", 1) for word in settings), command[1:]
