"""Names of files and messages of others change no terminal: what is printed has no control sequences but our colours."""

from __future__ import annotations

import contextlib
import re
import subprocess
from pathlib import Path

import pytest

from torchada.cli import main, visible
from torchada.porting.diff import quoted
from torchada.report.terminal import CODES, FRESH_LINE

pytestmark = pytest.mark.once

HOSTILE = "\033]0;title\007\033[31mred\u202egnp\r"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 中文, é\tand\n", "plain, 中文, é\tand\n"),
        ("\033[31mred", "\\x1b[31mred"),
        ("a\rb", "a\\x0db"),
        ("\x9b2J\u202e\udcff\x00", "\\x9b2J\\u202e\\udcff\\x00"),
        (f"\033[{CODES['warning']}m!\033[0m{FRESH_LINE}", f"\033[{CODES['warning']}m!\033[0m{FRESH_LINE}"),
    ],
)
def test_what_could_change_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert visible.visible(text) == shown


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / f"inner{HOSTILE}").mkdir(parents=True)
    (folder / f"{HOSTILE}.cu").write_text('cudaMalloc3Dx(); asm("a.b"); cudaFree(0);\n')
    (folder / f"{HOSTILE}.py").write_text("import torch\ntorch.cuda.jiterator\n")
    (folder / f"requirements-{HOSTILE}.txt").write_text("cupy\n")
    (folder / f"inner{HOSTILE}" / "b.py").write_text('x = "cuda" +')
    (folder / f"link{HOSTILE}.py").symlink_to("/dev/null")
    return folder


@pytest.mark.parametrize(
    "command", ["check TREE", "check -v TREE", "port TREE", "port -v TREE", "port --diff TREE", "check TREE/X"]
)
def test_a_command_prints_hostile_names_as_text(tree: Path, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main([word.replace("TREE", str(tree)).replace("X", HOSTILE) for word in command.split()])
    out, err = capfd.readouterr()
    assert "red" in out + err
    assert not CONTROLS.findall(out + err)


@pytest.mark.parametrize("name", ["a/plain.cu", "a/中文 é.cu"])
def test_a_name_that_is_text_stays_as_it_is_in_a_diff(name: str) -> None:
    assert quoted(name.encode()) == name.encode()


def test_other_names_are_quoted_as_git_does(tmp_path: Path) -> None:
    names = ['"quotes" and \\.cu', "\033[31mred.cu", "\u202e.cu"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in names:
        (tmp_path / name).write_text("")
        subprocess.run(["git", "-C", str(tmp_path), "add", "--", name], check=True)
    listed = subprocess.run(["git", "-C", str(tmp_path), "ls-files"], capture_output=True, check=True).stdout
    assert {quoted(name.encode()) for name in names} == set(listed.splitlines())
