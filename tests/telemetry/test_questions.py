"""What a program asks in order to learn where it runs is recorded with the view of the code that asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import torchada
from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

# A program may not name torchada, or it would know MUSA.
RECORD = """
from {}.hooks.state import STATE
import json
found = STATE.telemetry._recorder._counts
print(json.dumps([[use.api, use.to, site.line, site.package, n.total()] for (use, site), n in found.items()]))
""".format("torch" + "ada")


def recorded(musa: Interpreter, folder: Path, code: str, api: str = "torch.cuda.is_available") -> list[list[Any]]:
    (folder / "report.py").write_text(RECORD)
    (folder / "program.py").write_text(f"import torch\n{code}\nimport report\n")
    found: list[list[Any]] = musa.json(["program.py"], env={"TORCHADA_LOG": "summary"})
    return [entry for entry in found if entry[0] == api]


@pytest.mark.full
def test_questions_are_counted_by_view_and_place(musa: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "of_musa.py").write_text(
        "import torch\nKNOWN = 'torch.musa'\ndef ask(): return torch.cuda.is_available()\n"
    )
    code = (
        "import of_musa\nfor _ in range(3): assert torch.cuda.is_available()\nassert not of_musa.ask()\n"
        "assert torch.cuda.is_available()"
    )
    cuda, backend = "torch.musa.is_available, for code that sees CUDA", "torch itself, for code that sees the backend"
    assert recorded(musa, tmp_path, code) == [
        ["torch.cuda.is_available", cuda, 3, "__main__", 3],
        ["torch.cuda.is_available", backend, 3, "of_musa", 1],
        ["torch.cuda.is_available", cuda, 5, "__main__", 1],
    ]


def _is_for_cuda() -> bool:
    """Whether this torch was built for CUDA; its own module says so."""
    with torchada.disabled():
        return torch.version.cuda is not None


@pytest.mark.full
@pytest.mark.parametrize(
    ("api", "question", "by_cuda"),
    [
        ("torch.device.type", "torch.zeros(1, device={device!r}).device.type == 'cuda'", '"cuda"'),
        ("torch.version.cuda", "torch.version.cuda is not None", "the version of nvcc"),
    ],
)
def test_attributes_are_counted_by_view_and_place(
    musa: Interpreter, tmp_path: Path, api: str, question: str, by_cuda: str
) -> None:
    """What torch itself asks says nothing about the program, and is not counted."""
    (tmp_path / "of_musa.py").write_text(
        f"import torch\nKNOWN = 'torch.musa'\ndef ask(): return {question.format(device='musa')}\n"
    )
    answer = api == "torch.version.cuda" and _is_for_cuda()
    code = (
        f"import of_musa\nfor _ in range(2): assert {question.format(device='cuda')}\nassert of_musa.ask() is {answer}"
    )
    assert recorded(musa, tmp_path, code, api) == [
        [api, f"{by_cuda}, for code that sees CUDA", 3, "__main__", 2],
        [api, "torch itself, for code that sees the backend", 3, "of_musa", 1],
    ]


@pytest.mark.full
def test_recording_changes_no_answer(musa: Interpreter, tmp_path: Path) -> None:
    program = (
        "import torch\nfrom torch.version import cuda\n"
        "print(torch.cuda.is_available(), torch.version.cuda, cuda, torch.backends.cuda.is_built(), torch.has_cuda,\n"
        "      torch.backends.cudnn.is_available(), torch.has_cudnn, torch.backends.cudnn.version())\n"
    )
    for text in (program, "KNOWN = 'torch.musa'\n" + program):
        (tmp_path / "program.py").write_text(text)
        plain = musa.run(["-W", "ignore", "program.py"]).stdout
        assert musa.run(["-W", "ignore", "program.py"], env={"TORCHADA_LOG": "summary"}).stdout == plain
        assert plain.startswith("True" if text is program else "False")
