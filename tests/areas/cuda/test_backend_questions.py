"""A package that is put under the view of CUDA is told that there is no MUSA device; others get the device's answer."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa

CODE = """
    import json, sys, torch, torchada
    for name in ("library", "other"):
        module = sys.modules[name] = type(sys)(name)
        module.torch = torch
        exec("def ask(): return [torch.musa.is_available(), torch.musa.device_count(), torch.cuda.is_available()]", vars(module))
    answers = [sys.modules["library"].ask()]
    torchada.set_view("library", "cuda")
    answers += [sys.modules[name].ask() for name in ("library", "other")]
    torchada.set_view("library", "musa")
    print(json.dumps([*answers, sys.modules["library"].ask(), torch.cuda.device_count()]))
"""


def test_a_package_that_is_put_under_the_view_of_cuda_finds_no_other_device(musa: Interpreter) -> None:
    asked, told, other, of_musa, count = musa.json(CODE, forked=True)
    assert count > 0
    assert asked == other == [True, count, True]
    assert told == [False, 0, True]
    assert of_musa == [True, count, False]
