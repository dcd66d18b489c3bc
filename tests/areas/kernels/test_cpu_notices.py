"""TORCHADA_CPU_FALLBACK: what is computed on the CPU in the device's place is told once for each operator, and counted."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

PROGRAM = """
import json, warnings
import torch
x = torch.linspace(-1, 1, 4, device="cuda")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(3):
        torch.logcumsumexp(x, 0)
        x.double().clamp(0, 1)
        x.short().clamp(0, 1)
        x.clamp(0, 1)
from torchada.cli.status_text import as_text
from torchada.control.status import report
assert "computed on the CPU" in as_text({"torchada": "", **report()})
print(json.dumps([[f"{each.category.__name__}: {each.message}" for each in said], report()["cpu_fallbacks"]]))
"""


#: A release that has no kernel of logcumsumexp.
OLD = {"MUSASIM_RELEASE": "2.7.1"}


@pytest.mark.full
def test_each_operator_is_told_once_and_counted(musa: Interpreter) -> None:
    said, counts = musa.json(PROGRAM, env=OLD, forked=True)
    assert counts == {"aten::_logcumsumexp": 3, "aten::clamp": 6}
    assert len(said) == 2 and all("TORCHADA_CPU_FALLBACK=silent" in text for text in said)
    assert said[0].startswith(
        "TorchadaWarning: torchada: aten::_logcumsumexp is computed on the CPU, with copies there and back"
    )
    assert "because torch_musa has no kernel for it" in said[0]
    assert "because torch_musa's kernel refuses float64, or is wrong" in said[1]


@pytest.mark.full
def test_silent_it_is_counted_alone(musa: Interpreter) -> None:
    said, counts = musa.json(PROGRAM, env={**OLD, "TORCHADA_CPU_FALLBACK": "silent"}, forked=True)
    assert said == [] and counts["aten::clamp"] == 6


@pytest.mark.full
def test_refused_it_is_an_error(musa: Interpreter) -> None:
    code = """
    import torch, torchada
    x = torch.ones(3, device="cuda")
    try:
        torch.logcumsumexp(x, 0)
    except torchada.UnsupportedError as error:
        print(error)
    try:
        x.double().clamp(0, 1)
    except RuntimeError as error:
        print(error)
    """
    first, second = musa.run(code, env={**OLD, "TORCHADA_CPU_FALLBACK": "refuse"}, forked=True).stdout.splitlines()
    assert first.startswith("aten::_logcumsumexp has no counterpart on MUSA: torch_musa has no kernel for it")
    assert first.endswith("TORCHADA_CPU_FALLBACK=refuse rules out the CPU")
    assert second == "ClampScalar Unsupported tensor dtype: Double"
