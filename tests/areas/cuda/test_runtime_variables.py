"""CUDA_LAUNCH_BLOCKING and other variables of CUDA's runtime reach the backend's under its own names."""

from __future__ import annotations

import os

import pytest

from support.interpreter import ROOT, Interpreter
from torchada.backends.musa import MUSA
from torchada.redirect.mirrors.runtime_variables import RuntimeMirror

pytestmark = [pytest.mark.musa, pytest.mark.once]

RENAMES = MUSA.variables.renames


def test_each_variable_reaches_its_counterpart_before_the_driver_starts(musa: Interpreter) -> None:
    code = f"import os, torch, json; print(json.dumps({{n: os.environ.get(n) for n in {list(RENAMES.values())}}}))"
    given = {name: str(number) for number, name in enumerate(RENAMES)}
    theirs = {"MUSA_DEVICE_ORDER": "PCI_BUS_ID"}
    expected = {own: given[name] for name, own in RENAMES.items()} | theirs
    assert musa.json(code, env={**given, **theirs}) == expected


@pytest.mark.full
def test_what_a_program_sets_and_removes_is_followed(musa: Interpreter) -> None:
    code = """
    import os, subprocess, sys, torch
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    print(os.environ["MUSA_LAUNCH_BLOCKING"])
    child = "import os, torch; os.environ.pop('CUDA_LAUNCH_BLOCKING'); print(os.environ.get('MUSA_LAUNCH_BLOCKING'))"
    print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout.strip())
    import torchada
    with torchada.disabled():
        print(os.environ.get("CUDA_LAUNCH_BLOCKING"))
    del os.environ["CUDA_LAUNCH_BLOCKING"]
    print(os.environ.get("MUSA_LAUNCH_BLOCKING"), os.environ.get("TORCHADA_MIRRORED_RUNTIME"))
    """
    assert musa.run(code).stdout.split() == ["1", "None", "1", "None", "None"]


def test_a_variable_without_a_counterpart_is_named_once(musa: Interpreter) -> None:
    code = "import os, torch; os.environ['NVIDIA_TF32_OVERRIDE'] = '1'; torch.ones(1, device='cuda')"
    done = musa.run(code, env={"NVIDIA_TF32_OVERRIDE": "0"})
    assert done.stderr.count("NVIDIA_TF32_OVERRIDE has no counterpart here, and no effect") == 1


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> RuntimeMirror:
    for name in [*RENAMES, *RENAMES.values(), "TORCHADA_MIRRORED_RUNTIME"]:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return RuntimeMirror(MUSA.variables)


def test_a_value_of_the_users_own_is_never_changed_nor_removed(mirror: RuntimeMirror) -> None:
    os.environ |= {"CUDA_LAUNCH_BLOCKING": "1", "MUSA_LAUNCH_BLOCKING": "0"}
    mirror.bring_up_to_date()
    mirror.take_back()
    assert os.environ["MUSA_LAUNCH_BLOCKING"] == "0"


def test_a_copy_that_the_user_has_changed_is_the_users(mirror: RuntimeMirror) -> None:
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    mirror.bring_up_to_date()
    os.environ["MUSA_LAUNCH_BLOCKING"] = "2"
    mirror.bring_up_to_date()
    mirror.take_back()
    assert os.environ["MUSA_LAUNCH_BLOCKING"] == "2"


def test_the_copies_are_taken_back(mirror: RuntimeMirror) -> None:
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    mirror.bring_up_to_date()
    assert os.environ["MUSA_LAUNCH_BLOCKING"] == "1"
    mirror.take_back()
    assert "MUSA_LAUNCH_BLOCKING" not in os.environ and "TORCHADA_MIRRORED_RUNTIME" not in os.environ


def test_the_page_lists_every_variable() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text()
    assert all(f"| `{name}` | `{own}` |" in page for name, own in RENAMES.items())
    assert all(f"`{name}`" in page for name in MUSA.variables.absent)
