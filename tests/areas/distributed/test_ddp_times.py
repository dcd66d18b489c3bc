"""DistributedDataParallel measures its times on the device, without the warning that PyTorch has no clock for it."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.full, pytest.mark.once]

PROGRAM = """
import json, tempfile, torch, torch.distributed as dist
from torchada.areas.kernels._gates.gates import GATES

def times():
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).cuda(), device_ids=[0])
    for _ in range(3):
        model(torch.ones(2, 4, device="cuda")).sum().backward()
    measured = model._get_ddp_logging_data()
    return [measured.get(f"avg_{name}_compute_time", 0) > 0 for name in ("forward", "backward")]

with tempfile.TemporaryDirectory() as folder:
    dist.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
    found = times()
    if GATES.library is not None:
        GATES.library.turn("time_ddp", False)
        found += times()
    dist.destroy_process_group()
print(json.dumps(found))
"""
WARNING = "Time stats are currently only collected"


def test_times_are_measured_by_events_where_gates_are_in_cpp(musa: Interpreter) -> None:
    code = PROGRAM.replace("found += times()", "")
    done = musa.run(code, env={"TORCHADA_CPP_GATES": "1"}, timeout=900, forked=True)
    assert done.stdout.splitlines()[-1] == "[true, true]" and WARNING not in done.stderr


def test_without_the_clock_it_is_as_pytorch_says(musa: Interpreter) -> None:
    """Switched off again, and where gates are in Python."""
    done = musa.run(PROGRAM, env={"TORCHADA_CPP_GATES": "1"}, timeout=900, forked=True)
    assert done.stdout.splitlines()[-1] == "[true, true, false, false]" and WARNING in done.stderr
    done = musa.run(PROGRAM, env={"TORCHADA_CPP_GATES": "0"}, forked=True)
    assert done.stdout.splitlines()[-1] == "[false, false]" and WARNING in done.stderr
