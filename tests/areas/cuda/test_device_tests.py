"""Test suites that are written for each type of device, as PyTorch's and torchvision's are, run once for a device."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

SUITE = """
import sys, warnings
warnings.simplefilter("ignore")  # torch.testing's own
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, run_tests

class TestAdd(TestCase):
    def test_add(self, device):
        import torch
        assert (torch.ones(2, device=device) + 1).tolist() == [2, 2]
        print(device, file=sys.stdout)

instantiate_device_type_tests(TestAdd, globals(), **options)
print(sorted(name for name in globals() if name.startswith("TestAdd")))
"""


@pytest.mark.parametrize(
    ("options", "classes"),
    [
        ({}, ["TestAddCPU", "TestAddCUDA"]),
        ({"only_for": "cuda"}, ["TestAddCUDA"]),
        pytest.param({"only_for": "musa"}, ["TestAddPRIVATEUSE1"], marks=pytest.mark.slow),
        pytest.param({"except_for": "cuda"}, ["TestAddCPU", "TestAddPRIVATEUSE1"], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_one_class_for_a_device(musa: Interpreter, options: dict[str, str], classes: list[str]) -> None:
    assert musa.run(f"options = {options}\n{SUITE}", forked=True).stdout.strip() == str(classes)


def test_the_suite_runs_on_the_device(musa: Interpreter) -> None:
    done = musa.run(f"options = {{}}\n{SUITE}\nrun_tests()", forked=True)
    assert {"cpu", "cuda:0"} <= set(done.stdout.split()) and "Ran 2 tests" in done.stderr
