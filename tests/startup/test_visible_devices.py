"""CUDA_VISIBLE_DEVICES and MUSA_VISIBLE_DEVICES are two names of one setting: what is set later wins, in children too."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

COUNT = """
import torch, os
print(torch.cuda.device_count(), os.environ.get("MUSA_VISIBLE_DEVICES"), os.environ.get("CUDA_VISIBLE_DEVICES"))
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "2 None None"),
        ({"CUDA_VISIBLE_DEVICES": "1"}, "1 1 1"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "0  "),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "0 -1 -1"),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "MUSA_VISIBLE_DEVICES": "1"}, "1 1 1"),
        ({"MUSA_VISIBLE_DEVICES": "0"}, "1 0 0"),
    ],
)
def test_visible_devices_set_before_the_start_count(musa: Interpreter, env: dict[str, str], expected: str) -> None:
    assert musa.run(COUNT, env=env).stdout.rstrip("\n") == expected


@pytest.mark.full
@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES"])
def test_visible_devices_set_after_importing_torch_count(musa: Interpreter, name: str) -> None:
    code = f"import torch, os; os.environ[{name!r}] = '1'\n" + COUNT
    assert musa.run(code).stdout.strip() == "1 1 1"


@pytest.mark.full
@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES"])
def test_visible_devices_removed_by_the_program_count_no_more(musa: Interpreter, name: str) -> None:
    code = f"import torch, os; del os.environ[{name!r}]\n" + COUNT
    assert musa.run(code, env={name: "1"}).stdout.strip() == "2 None None"


@pytest.mark.full
def test_the_variable_that_is_set_later_wins(musa: Interpreter) -> None:
    """A launcher that deals out CUDA_VISIBLE_DEVICES works where the user has set MUSA_VISIBLE_DEVICES, and the other way round."""
    code = "import torch, os; os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n" + COUNT
    assert musa.run(code, env={"MUSA_VISIBLE_DEVICES": "0,1"}).stdout.strip() == "1 1 1"
    code = "import torch, os; os.environ['MUSA_VISIBLE_DEVICES'] = '0'\n" + COUNT
    assert musa.run(code, env={"CUDA_VISIBLE_DEVICES": "0,1"}).stdout.strip() == "1 0 0"


def test_a_copy_that_the_program_removes_does_not_remove_the_users_setting(musa: Interpreter) -> None:
    code = "import torch, os; del os.environ['CUDA_VISIBLE_DEVICES']\n" + COUNT
    assert musa.run(code, env={"MUSA_VISIBLE_DEVICES": "1"}).stdout.strip() == "1 1 None"


@pytest.mark.full
@pytest.mark.parametrize(
    ("ours", "set_by"),
    [
        ("CUDA_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES"),
        ("MUSA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        pytest.param("CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", marks=pytest.mark.slow),
        pytest.param("MUSA_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES", marks=pytest.mark.slow),
    ],
)
def test_a_child_with_another_value_is_not_bound_by_our_copy(musa: Interpreter, ours: str, set_by: str) -> None:
    code = f"""
import os, subprocess, sys, torch
env = dict(os.environ, {set_by}="0,1")
child = subprocess.run([sys.executable, "-c", {COUNT!r}], env=env, capture_output=True, text=True)
print(torch.cuda.device_count(), child.stdout.strip(), child.stderr)
"""
    assert musa.run(code, env={ours: "1"}).stdout.strip() == "1 2 0,1 0,1"


@pytest.mark.full
def test_a_child_of_a_child_follows_too(musa: Interpreter) -> None:
    child = f"import os, subprocess, sys, torch; subprocess.run([sys.executable, '-c', {COUNT!r}])"
    code = f"""
import os, subprocess, sys, torch
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
print(subprocess.run([sys.executable, "-c", {child!r}], capture_output=True, text=True).stdout)
"""
    assert musa.run(code, env={"MUSA_VISIBLE_DEVICES": "0,1"}).stdout.strip() == "1 1 1"


BOTH = "print(os.environ.get('MUSA_VISIBLE_DEVICES'), os.environ.get('CUDA_VISIBLE_DEVICES'), "
BOTH += "[name for name in os.environ if name.startswith('TORCHADA_MIRRORED')])"


@pytest.mark.full
@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"CUDA_VISIBLE_DEVICES": "1"}, "None 1 []"),
        ({"MUSA_VISIBLE_DEVICES": "1"}, "1 None []"),
        ({"MUSA_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0,1"}, "1 0,1 []"),
    ],
)
def test_undo_gives_back_what_we_have_written(musa: Interpreter, env: dict[str, str], expected: str) -> None:
    assert musa.run(f"import torch, torchada, os; torchada.disable(); {BOTH}", env=env).stdout.strip() == expected


def test_undo_after_the_program_has_set_one_gives_back_the_users_other(musa: Interpreter) -> None:
    code = f"import torch, torchada, os; os.environ['CUDA_VISIBLE_DEVICES'] = '1'; torchada.disable(); {BOTH}"
    assert musa.run(code, env={"MUSA_VISIBLE_DEVICES": "0,1"}).stdout.strip() == "0,1 1 []"
