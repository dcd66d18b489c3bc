"""Every API of CUDA that a patch names is in the record of calls once a program has used it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]


@pytest.mark.full
def test_every_api_that_a_patch_names_is_recorded(musa: Interpreter, tmp_path: Path) -> None:
    path = os.pathsep.join(filter(None, [str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH")]))
    file = tmp_path / "found.json"
    env = {"TORCHADA_LOG": "summary", "PYTHONPATH": path, "TORCHADA_STRICT": "0"}
    musa.run(["-W", "ignore", "-m", "support.recorded", str(file)], env=env, timeout=600)
    found = json.loads(file.read_text())
    assert found["missing"] == []
    assert found["named"] > 400 and found["programs"] > 300
