"""The questions about the platform, on a backend of another package."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.toy import IS_POSSIBLE, toy_interpreter

pytestmark = [pytest.mark.once, pytest.mark.skipif(not IS_POSSIBLE, reason="this torch has no devices in Python")]

ASK = """
import json, torch, torchada
device = torch.device("cuda")
print(json.dumps([
    torchada.detect_platform().value,
    torchada.get_platform() is torchada.Platform("toy"),
    torchada.get_device_type(),
    torchada.get_backend() is torchada.get_torch_device_module() is torch.toy,
    [torchada.is_musa_platform(), torchada.is_cuda_platform(), torchada.is_cpu_platform()],
    [torchada.is_gpu_device(each) for each in (device, "cuda:0", "toy:0", "musa", torch.zeros(1, device="cuda"))],
    [torchada.is_gpu_device(each) for each in ("cpu", torch.zeros(1), "xpu", None, 7)],
]))
"""
MEMBER = """
import copy, pickle
from torchada import Platform
toy = Platform("toy")
assert toy is Platform("toy") and toy.name == "TOY" and toy.value == "toy" and isinstance(toy, Platform)
assert repr(toy) == "<Platform.TOY: 'toy'>" and str(toy) == "Platform.TOY"
assert pickle.loads(pickle.dumps(toy)) is toy and copy.deepcopy(toy) is toy and {toy: 1}[Platform("toy")] == 1
assert toy != Platform.MUSA and toy not in (Platform.CUDA, Platform.CPU)
assert [each.value for each in Platform] == ["cuda", "musa", "cpu", "toy"] and len(Platform) == 4
assert Platform("musa") is Platform.MUSA and "TOY" not in Platform.__members__
for nobody in ("nobody", "", 7, None):
    try:
        Platform(nobody)
    except ValueError:
        continue
    raise AssertionError(nobody)
"""


@pytest.fixture
def toy(tmp_path: Path) -> Interpreter:
    return toy_interpreter(tmp_path)


def test_platform_questions_know_a_third_party_backend(toy: Interpreter) -> None:
    found = toy.json(ASK)
    assert found == ["toy", True, "toy", True, [False] * 3, [True] * 5, [False] * 5]


def test_platform_has_a_member_for_each_installed_backend(toy: Interpreter) -> None:
    toy.run(MEMBER)
    toy.run(MEMBER, env={"TORCHADA_PLATFORM": "cpu"})


def test_detect_platform_needs_no_torch_for_a_third_party_backend(toy: Interpreter) -> None:
    code = "import sys, torchada; print(torchada.detect_platform().value, {'torch', 'torch_toy'} & sys.modules.keys())"
    assert toy.run(code).stdout.strip() == "toy set()"


def test_an_installed_backend_that_nobody_asks_for_is_not_chosen(toy: Interpreter) -> None:
    code = "import sys, torch, torchada; print(torchada.detect_platform().value, 'torch_toy_torchada' in sys.modules)"
    assert toy.run(code, env={"TORCHADA_PLATFORM": "auto"}).stdout.strip() == "cpu False"
