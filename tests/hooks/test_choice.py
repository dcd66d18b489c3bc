"""Is there anything to do? `ask` changes nothing; `choose` acts on the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

AROUND = """
import json, os, sys
from _torchada_startup import FINDER
from torchada.base import warnings as _warnings
from torchada.hooks import choice
from torchada.hooks.state import STATE
def surroundings():
    return [dict(os.environ), dict(FINDER.watched), str(STATE.selection), sorted(STATE.modules), _warnings.said()]
before = surroundings()
answer = choice.{call}
platform = str(getattr(answer, "platform", answer))
print(json.dumps([before == surroundings(), platform, sorted(FINDER.watched), "torch_musa" in sys.modules]))
"""
CHOOSE = """
from _torchada_startup import FINDER
from torchada.hooks import choice
answer = choice.choose(FINDER)
"""
ENV = {"CUDA_VISIBLE_DEVICES": "1", "TORCHADA_SKIP_AREAS": "no_such_area"}


@pytest.fixture
def installed(tmp_path: Path) -> Interpreter:
    """An interpreter that could import an adapter."""
    (tmp_path / "torch_musa.py").write_text("raise AssertionError('imported')")
    return Interpreter(cwd=tmp_path, env=ENV)


def test_ask_changes_nothing(installed: Interpreter) -> None:
    unchanged, platform, watched, imported = installed.json(AROUND.format(call="ask()"))
    assert unchanged and platform == "musa" and not imported
    # the adapters, which torch may load by itself, and what manages devices without torch
    assert watched == ["pymtml", "pynvml", "torch", "torch_mlu", "torch_musa", "torch_npu"]


def test_choose_watches_modules_and_warns_of_the_environment(installed: Interpreter) -> None:
    done = installed.run(AROUND.format(call="choose(FINDER)"))
    assert done.stdout.startswith('[false, "True"') and "torch.utils.cpp_extension" in done.stdout
    assert "there is no area 'no_such_area'" in done.stderr


def test_choose_mirrors_the_visible_devices(installed: Interpreter) -> None:
    code = "import os; print(os.environ['MUSA_VISIBLE_DEVICES'])"
    assert installed.run(CHOOSE + code).stdout.strip() == "1"


@pytest.mark.parametrize("platform", ["cuda", "cpu"])
def test_choose_changes_nothing_on_a_platform_that_is_left_alone(installed: Interpreter, platform: str) -> None:
    code = "import os; print(answer, 'MUSA_VISIBLE_DEVICES' in os.environ)"
    done = installed.run(CHOOSE + code, env={"TORCHADA_PLATFORM": platform, "TORCHADA_SKIP_AREAS": ""})
    assert done.stdout.split() == ["False", "False"] and done.stderr == ""
