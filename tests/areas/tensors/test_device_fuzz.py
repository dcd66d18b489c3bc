"""torch.device takes or refuses any input as plain torch does, but for the device that stands in for CUDA."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support import device_fuzz
from support.interpreter import Interpreter

#: FUZZ_COUNT=1000000 makes a longer hunt, and FUZZ_SEED another one.
COUNT = int(os.environ.get("FUZZ_COUNT", "20000"))
SEED = int(os.environ.get("FUZZ_SEED", "17"))


def redirected(outcome: list[object]) -> list[object]:
    """What plain torch answers, with the device that stands in for CUDA's."""
    kind, *rest = outcome
    return [kind, "musa", *rest[1:]] if kind == "device" and rest[0] == "cuda" else outcome


@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize("mechanism", ["portable", "native"])
def test_every_input_is_taken_or_refused_as_by_plain_torch(
    plain: Interpreter, musa: Interpreter, mechanism: str
) -> None:
    program = [str(Path(device_fuzz.__file__)), str(SEED), str(COUNT)]
    native = {"TORCHADA_NATIVE": "1" if mechanism == "native" else "0"}
    expected = plain.run(program, env={"TORCHADA_DISABLE": "1"}).stdout.splitlines()
    found = musa.run([*program, "1"], env=native).stdout.splitlines()
    assert len(expected) == COUNT and sum(json.loads(line)[0] == "device" for line in expected) > COUNT // 10
    differing = [
        (arguments, here, there)
        for arguments, here, there in zip(
            device_fuzz.inputs(SEED, COUNT), map(json.loads, found), map(json.loads, expected)
        )
        if here != redirected(there)
    ]
    assert not differing, f"{len(differing)} of {COUNT}: {differing[:5]}"
