"""The README's main promise: the example, which does not mention torchada, trains on the device and prints its accuracy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter

pytestmark = pytest.mark.once

EXAMPLE = ROOT / "docs" / "examples" / "train_digits.py"


def _accuracy(output: str) -> float:
    (found,) = re.findall(r"Test accuracy: ([0-9.]+)%", output)
    return float(found)


@pytest.mark.musa
def test_the_example_trains_on_the_simulated_device(musa: Interpreter, tmp_path: Path) -> None:
    done = musa.run(["-m", "torchada", "run", "--simulate", str(EXAMPLE)])
    assert _accuracy(done.stdout) > 95
    assert "cuda:0" in done.stdout.strip().splitlines()[-1]


@pytest.mark.full
def test_the_example_trains_on_the_cpu_where_nothing_is_redirected(plain: Interpreter, tmp_path: Path) -> None:
    plain.cwd = tmp_path
    done = plain.run([str(EXAMPLE), "--epochs", "2"], env={"TORCHADA_DISABLE": "1"})
    assert _accuracy(done.stdout) > 95
    assert "cpu" in done.stdout.strip().splitlines()[-1]


def test_the_example_does_not_mention_torchada() -> None:
    text = EXAMPLE.read_text().lower()
    assert "musa" not in text
    assert "torchada" not in text
