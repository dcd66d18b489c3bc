"""torch.cuda.is_available() is honest unless told otherwise."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa


@pytest.mark.parametrize(("value", "expected"), [(None, "False"), ("0", "False"), ("1", "True")])
def test_is_available(musa: Interpreter, value: str | None, expected: str) -> None:
    env = {} if value is None else {"TORCHADA_FORCE_CUDA_AVAILABLE": value}
    done = musa.run("import torch; print(torch.cuda.is_available(), torch.version.cuda is None)", env=env)
    assert done.stdout.split()[0] == expected


def test_forced_but_no_device(musa: Interpreter) -> None:
    env = {"TORCHADA_FORCE_CUDA_AVAILABLE": "1", "MUSA_VISIBLE_DEVICES": ""}
    assert musa.run("import torch; print(torch.cuda.is_available())", env=env).stdout.strip() == "False"
