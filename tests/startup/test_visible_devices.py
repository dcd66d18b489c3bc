"""CUDA_VISIBLE_DEVICES means MUSA_VISIBLE_DEVICES, unless the user has set the latter."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa

COUNT = "import torch, os; print(torch.cuda.device_count(), os.environ.get('MUSA_VISIBLE_DEVICES'))"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "2 None"),
        ({"CUDA_VISIBLE_DEVICES": "1"}, "1 1"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "0 "),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "0 -1"),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "MUSA_VISIBLE_DEVICES": "1"}, "1 1"),
        ({"MUSA_VISIBLE_DEVICES": "0"}, "1 0"),
    ],
)
def test_visible_devices_set_before_the_start_count(musa: Interpreter, env: dict[str, str], expected: str) -> None:
    assert musa.run(COUNT, env=env).stdout.rstrip("\n") == expected


def test_visible_devices_set_after_importing_torch_count(musa: Interpreter) -> None:
    code = "import torch, os; os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n" + COUNT
    assert musa.run(code).stdout.strip() == "1 1"


def test_visible_devices_removed_by_the_program_count_no_more(musa: Interpreter) -> None:
    code = "import torch, os; del os.environ['CUDA_VISIBLE_DEVICES']\n" + COUNT
    assert musa.run(code, env={"CUDA_VISIBLE_DEVICES": "1"}).stdout.strip() == "2 None"


def test_a_child_with_another_value_is_not_bound_by_our_copy(musa: Interpreter) -> None:
    code = f"""
import os, subprocess, sys, torch
env = dict(os.environ, CUDA_VISIBLE_DEVICES="0,1")
child = subprocess.run([sys.executable, "-c", {COUNT!r}], env=env, capture_output=True, text=True)
print(torch.cuda.device_count(), child.stdout.strip(), child.stderr)
"""
    assert musa.run(code, env={"CUDA_VISIBLE_DEVICES": "1"}).stdout.strip() == "1 2 0,1"


def test_undo_removes_our_copy(musa: Interpreter) -> None:
    code = "import torch, torchada, os; torchada.disable(); print(os.environ.get('MUSA_VISIBLE_DEVICES'))"
    assert musa.run(code, env={"CUDA_VISIBLE_DEVICES": "1"}).stdout.strip() == "None"
