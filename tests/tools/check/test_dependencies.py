"""`torchada check --dependencies`: installed packages, judged through what a project calls of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchada.tools.check import Finding, check
from torchada.tools.check.dependencies import Dependencies

pytestmark = pytest.mark.once

PACKAGE = {
    "helper/__init__.py": "from .kernels import fast as quick, Layer\nfrom . import deep\nfrom .stars import *\n",
    "helper/kernels.py": """
import torch
from helper import inner

def fast(x):
    return inner.step(x)

def unused(x):
    return torch.cuda.jiterator._create_jit_fn("x")

class Layer:
    def forward(self, x):
        from .deep.down import low
        return low(x)
""",
    "helper/inner.py": "import torch\ndef step(x):\n    torch.cuda.jiterator._create_jit_fn('x')\n    return step(x)\n",
    "helper/deep/__init__.py": "",
    "helper/deep/down.py": "import torch\ndef low(x):\n    if torch.cuda.get_device_capability() >= (8, 0): pass\n",
    "helper/stars.py": "import torch\ndef starred(): return torch.cuda.jiterator._create_jit_fn('y')\n",
    "helper/fine.py": "import torch\ndef calm(x): return x.cuda()\n",
    "alone.py": "import torch\nif True:\n    def one(): torch.cuda.jiterator._create_multi_output_jit_fn('x', 2)\n",
    "broken/__init__.py": "def f(:\n",
}


@pytest.fixture
def told(tmp_path: Path) -> object:
    for name, text in PACKAGE.items():
        file = tmp_path / "site" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(**files: str) -> list[Finding]:
        for name, text in files.items():
            (tmp_path / "project").mkdir(exist_ok=True)
            (tmp_path / "project" / f"{name}.py").write_text(text)
        result = check([str(tmp_path / "project")], dependencies=Dependencies([str(tmp_path / "site")]))
        return [finding for finding in result.findings if finding.rule not in ("view-question", "device-name")]

    return run


def shown(findings: list[Finding]) -> list[tuple[str, int, str]]:
    return [(finding.file, finding.line, finding.message.partition(": ")[0]) for finding in findings]


@pytest.mark.parametrize(
    ("code", "leads"),
    [
        ("import helper\nhelper.quick(1)\n", "helper.quick leads to helper/inner.py:3"),
        ("\nfrom helper import quick as q\nq(1)\n", "helper.quick leads to helper/inner.py:3"),
        ("\nfrom helper.kernels import Layer\n", "helper.kernels.Layer leads to helper/deep/down.py:3"),
        ("\nfrom helper import starred\n", "helper.starred leads to helper/stars.py:2"),
        ("import alone\nalone.one()\n", "alone.one leads to alone.py:3"),
        ("import helper.kernels as k\nk.Layer\n", "helper.kernels.Layer leads to helper/deep/down.py:3"),
    ],
)
def test_a_call_leads_to_what_the_package_does(told: object, code: str, leads: str) -> None:
    findings = told(a=code)  # type: ignore[operator]
    assert shown(findings) == [("a.py", 2, leads)]
    assert findings[0].rule == "dependency-use" and findings[0].severity == "warning"


@pytest.mark.parametrize(
    "code",
    [
        "import helper\n",
        "from helper.fine import calm\n",
        "from broken import f\n",
        "import nowhere\nnowhere.f()\n",
        "from helper import nothing\n",
    ],
)
def test_what_is_not_called_or_works_is_not_told(told: object, code: str) -> None:
    assert told(a=code) == []  # type: ignore[operator]


def test_a_fault_is_told_once_where_it_is_first_reached(told: object) -> None:
    code = "from helper import quick\nquick(1)\n"
    assert shown(told(a=code, b=code)) == [("a.py", 1, "helper.quick leads to helper/inner.py:3")]  # type: ignore[operator]


def test_a_module_of_the_project_is_no_dependency(told: object) -> None:
    assert told(alone="def one(): ...\n", b="import alone\nalone.one()\n") == []  # type: ignore[operator]


def test_a_comment_accepts_it_and_counts_as_used(told: object) -> None:
    assert told(a="import alone\nalone.one()  # torchada: ignore[dependency-use]\n") == []  # type: ignore[operator]


def test_nothing_is_imported(told: object, tmp_path: Path) -> None:
    (tmp_path / "site" / "helper" / "inner.py").write_text("raise SystemExit\ndef step(x): ...\n")
    assert told(a="from helper import quick\n") == []  # type: ignore[operator]
