"""_dump_nccl_trace and _dump_nccl_trace_json, on the releases of torch_musa that have a flight recorder."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.full, pytest.mark.once]

GROUP = """
import json, pickle, torch, torch.distributed as dist
from torch._C._distributed_c10d import _dump_nccl_trace, _dump_nccl_trace_json
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
def work():
    dist.all_reduce(torch.ones(3, 2, device="cuda"))
    dist.all_gather([torch.empty(2, device="cuda", dtype=torch.half)], torch.ones(2, device="cuda", dtype=torch.half))
    torch.cuda.synchronize()
work()
"""

READ = """
trace = pickle.loads(_dump_nccl_trace())
first, second = trace["entries"]
assert [first["profiling_name"], second["profiling_name"]] == ["nccl:all_reduce", "nccl:all_gather"], trace
assert first["input_sizes"] == first["output_sizes"] == [[3, 2]] and first["input_dtypes"] == ["Float"]
assert second["input_dtypes"] == ["Half"] and second["collective_seq_id"] == first["collective_seq_id"] + 1
assert first["state"] == "completed" and first["retired"] and first["duration_ms"] >= 0 and not first["is_p2p"]
assert first["time_created_ns"] <= first["time_discovered_started_ns"] <= first["time_discovered_completed_ns"]
assert first["timeout_ms"] == 600_000 and first["process_group"][1] == "default_pg"
assert any(frame["name"] == "work" for frame in first["frames"])
[config] = trace["pg_config"].values()
assert config["ranks"] == "[0]" and config["desc"] == "default_pg"
assert [status["last_completed_collective"] for status in trace["pg_status"].values()] == ["2"]
as_json = json.loads(_dump_nccl_trace_json())
assert [entry["profiling_name"] for entry in as_json["entries"]] == ["nccl:all_reduce", "nccl:all_gather"]
assert "frames" not in as_json["entries"][0] and as_json["version"] == trace["version"]
assert "entries" not in pickle.loads(_dump_nccl_trace(includeCollectives=False))
assert pickle.loads(_dump_nccl_trace(onlyActive=True))["entries"] == []
assert "frames" not in pickle.loads(_dump_nccl_trace(includeStackTraces=False))["entries"][0]
"""


@pytest.mark.parametrize("release", ["2.9.1", "2.11.0"])
def test_the_trace_has_nccls_names(musa: Interpreter, release: str) -> None:
    musa.run(GROUP + READ, env={"MUSASIM_RELEASE": release}, forked=True)


def test_the_variable_says_how_many_operations_are_kept(musa: Interpreter) -> None:
    code = f"{GROUP}work()\nprint([entry['record_id'] for entry in pickle.loads(_dump_nccl_trace())['entries']])"
    out = musa.run(code, env={"MUSASIM_RELEASE": "2.9.1", "TORCH_FR_BUFFER_SIZE": "3"}).stdout
    assert out.strip() == "[1, 2, 3]"
    off = musa.run(code, env={"MUSASIM_RELEASE": "2.9.1", "TORCH_FR_BUFFER_SIZE": "0"}).stdout
    assert off.strip() == "[]"
