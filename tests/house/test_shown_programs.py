"""Each program in Python that an English page shows is run here, or by the test that the table names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter

pytestmark = pytest.mark.once

ELSEWHERE = {
    "docs/extending.md": "tests/backends/test_extending.py",
    "docs/how-to/extensions.md": "tests/building/projects/mixed/setup.py",  # an extension with sources and options of all kinds
    "docs/reference/native-libraries.md": "tests/areas/native/test_cdll.py",  # two lines of a program
    "docs/tutorial/first-steps.md": "tests/house/test_first_steps.py",
}
HERE = ("docs/explanation/simulator.md", "docs/how-to/kernels.md", "docs/how-to/run.md")


def _programs(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^ *```py(?:thon)?\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)


def _program(page: str) -> str:
    (program,) = _programs(page)
    return str(program)


def test_every_program_is_run_by_a_test() -> None:
    pages = [str(page.relative_to(ROOT)) for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]
    english = {page for page in pages if "/zh/" not in page and not page.endswith("_CN.md")}
    assert {page for page in english if _programs(page)} == {*ELSEWHERE, *HERE}
    assert all((ROOT / test).is_file() for test in ELSEWHERE.values())


def test_the_simulator_without_torchada(plain: Interpreter) -> None:
    done = plain.run(_program("docs/explanation/simulator.md"), env={"TORCHADA_DISABLE": "1"})
    assert done.stdout == "tensor([1., 1.], device='musa:0')\n"


@pytest.mark.full
def test_a_profile(musa: Interpreter, tmp_path: Path) -> None:
    step = "import torch\nx = torch.ones(3, device='cuda')\nstep = lambda: (x + 1).cpu()\n"
    replace(musa, cwd=tmp_path).run(step + _program("docs/how-to/kernels.md"))
    assert "cudaMemcpyAsync" in (tmp_path / "trace.json").read_text()


def test_a_program_that_asks_for_musa(musa: Interpreter) -> None:
    assert "MTT" in musa.run(_program("docs/how-to/run.md"), forked=True).stdout
