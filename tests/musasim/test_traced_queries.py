"""Functions of torch.musa that ask for the device, in compiled code: constants from torch_musa 2.11.0 on, and a break before."""

from __future__ import annotations

import pytest

from support.fresh_process import run
from support.interpreter import TORCH

pytestmark = [pytest.mark.once, pytest.mark.skipif(TORCH < (2, 11), reason="newer releases need their own torch")]

CODE = """
import torch, torch_musa

def compiled(function):
    try:
        return torch.compile(function, backend="eager", fullgraph=True)(torch.zeros(2, device="musa")).tolist()
    except torch._dynamo.exc.Unsupported:
        return None

print(compiled(lambda x: x + int(torch.musa.is_available()) + 2 * int(torch.musa.is_initialized())))
print(compiled(lambda x: x + torch.musa.get_device_properties(0).multi_processor_count))
print(torch.musa.get_device_properties(0).multi_processor_count)
where = lambda x: x + torch.musa.current_device()
print(compiled(where))
torch.musa.set_device(1)
print(compiled(where))
"""


def test_the_answers_are_constants() -> None:
    first, properties, count, device, other = run(CODE, MUSASIM_RELEASE="2.11.0").splitlines()
    assert first == "[3.0, 3.0]" and properties == f"[{float(count)}, {float(count)}]"
    assert (device, other) == ("[0.0, 0.0]", "[1.0, 1.0]"), "it is compiled again for another device"


def test_dynamo_cannot_trace_into_them_before() -> None:
    first, properties, _, device, other = run(CODE, MUSASIM_RELEASE="2.9.1").splitlines()
    assert {first, properties, device, other} == {"None"}
