"""What the process group `mccl` has from torch_musa 2.9.1 on, and has not before."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from support.fresh_process import run

pytestmark = pytest.mark.once

GROUP = """
import torch, torch_musa
import torch.distributed as dist
dist.init_process_group("mccl", store=dist.HashStore(), rank=0, world_size=1)
group = dist.group.WORLD._get_backend(torch.device("musa"))
dist.all_reduce(torch.ones(2, device="musa"))
bad = torch.tensor([1.0, float("nan")], device="musa")
"""
NAMES = {
    "MCCLConfig",
    "MCCL_CTA_POLICY_ZERO",
    "_comm_ptr",
    "_set_enable_nan_check",
    "_start_time_estimate",
    "deregister_mem_pool",
    "register_mem_pool",
}


def test_2_7_1_has_no_such_names_and_finds_no_nan() -> None:
    out = run(
        f"""{GROUP}
print(sorted({NAMES} & set(dir(group))), hasattr(group.Options, "config"), torch.musa.mccl.version())
dist.all_reduce(bad)
print(bad.isnan().tolist())
try:
    print(group.mem_allocator)
except (AttributeError, RuntimeError) as error:
    print(error)
""",
        TORCH_MCCL_NAN_CHECK="1",
        MUSASIM_RELEASE="2.7.1",
    )
    names, values, allocator = out.splitlines()
    assert names == "[] False (2, 11, 5)" and values == "[False, True]"
    assert "does not support getMemAllocator" in allocator or "no attribute" in allocator


BLOCKING = """
if hasattr(dist.Work, "block_current_stream"):
    work = dist.all_reduce(torch.ones(2, device="musa"), async_op=True)
    work.block_current_stream()
    assert work.is_completed()
"""


def test_2_9_1_registers_memory_and_tells_its_communicator() -> None:
    out = run(
        GROUP
        + BLOCKING
        + """
assert group._comm_ptr() == group._comm_ptr() != 0
assert torch.musa.mccl.version() == (2, 28, 9)
pool = torch.musa.MemPool(group.mem_allocator)
with torch.musa.use_mem_pool(pool):
    tensor = torch.ones(4, device="musa")
group.register_mem_pool(pool, symm=True)
dist.all_reduce(tensor)
assert tensor.tolist() == [1] * 4
group.deregister_mem_pool(pool)
try:
    group.deregister_mem_pool(pool)
except RuntimeError as error:
    print(error)
""",
        MUSASIM_RELEASE="2.9.1",
    )
    assert "Trying to unregister not previously registered pool" in out


def test_memory_is_registered_with_a_communicator_that_is_there() -> None:
    out = run(
        """
import torch, torch_musa, torch.distributed as dist
dist.init_process_group("mccl", store=dist.HashStore(), rank=0, world_size=1)
group = dist.group.WORLD._get_backend(torch.device("musa"))
for function in (group.register_mem_pool, group.deregister_mem_pool):
    try:
        function(torch.musa.MemPool())
    except dist.DistBackendError as error:
        print(error)
""",
        MUSASIM_RELEASE="2.9.1",
    )
    assert out.count("MCCL communicator has not been initialized before mem pool creation") == 2


@pytest.mark.parametrize("release", ["2.7.1", "2.9.1"])
def test_a_group_for_a_device_is_connected_when_it_is_made(release: str) -> None:
    out = run(
        """
import torch, torch_musa, torch.distributed as dist
device = torch.device("musa", 0)
def connected(**more):
    return dist.new_group(**more)._get_backend(device)._is_initialized()
dist.init_process_group("mccl", store=dist.HashStore(), rank=0, world_size=1)
print(connected(), connected(device_id=device))
""",
        MUSASIM_RELEASE=release,
    )
    assert out == "False True\n"


def test_2_9_1_has_preferences_for_a_communicator() -> None:
    out = run(
        """
import copy, torch, torch_musa, torch.distributed as dist
from datetime import timedelta
group = dist.ProcessGroupMCCL
options = group.Options()
assert {options.config.blocking, options.config.min_ctas, options.config.cta_policy} == {-(2**31)}
options.config.cta_policy = group.MCCL_CTA_POLICY_ZERO
config = copy.copy(options.config)
config.max_ctas = 4
print(options.config.cta_policy, copy.deepcopy(options).config.cta_policy, config.max_ctas, options.config.max_ctas == 4)
options._timeout, seven = timedelta(seconds=5), timedelta(seconds=7)
dist.init_process_group("mccl", store=dist.HashStore(), rank=0, world_size=1, pg_options=options, timeout=seven)
own = dist.group.WORLD._get_backend(torch.device("musa")).options
print(own.config.cta_policy, own._timeout)
""",
        MUSASIM_RELEASE="2.9.1",
    )
    assert out.splitlines()[-2:] == ["2 2 4 False", "2 0:00:07"]


def test_2_9_1_has_no_estimates_of_time() -> None:
    out = run(
        f"""{GROUP}
print(group.supports_time_estimate)
group._start_time_estimate()
try:
    group._end_time_estimate()
except RuntimeError as error:
    print(error)
""",
        MUSASIM_RELEASE="2.9.1",
    )
    assert out.startswith("False\nThe current mccl version does not support")


ENTRIES = """
import pickle
from torch._C import _distributed_c10d as native
def entries():
    trace = pickle.loads(native._dump_mccl_trace())
    return [(each["record_id"], each["profiling_name"], each["input_sizes"]) for each in trace["entries"]]
"""


def test_a_barrier_is_recorded_as_a_reduction_and_a_reset_counts_anew() -> None:
    out = run(
        f"""{GROUP}{ENTRIES}
dist.barrier()
print(entries())
native._reset_fr_recording_mccl()
dist.all_reduce(torch.ones(3, device="musa"))
print(entries())
""",
        MUSASIM_RELEASE="2.11.0",
    )
    before, after = out.splitlines()
    assert before == "[(0, 'mccl:all_reduce', [[2]]), (1, 'mccl:all_reduce_barrier', [[1]])]"
    assert after == "[(0, 'mccl:all_reduce', [[3]])]"


@pytest.mark.full
@pytest.mark.parametrize(("release", "asked"), [("2.11.0", True), ("2.11.0", False), ("2.9.1", True)])
def test_2_11_0_leaves_the_newest_operations_of_a_group_that_is_aborted(
    release: str, asked: bool, tmp_path: Path
) -> None:
    prefix = tmp_path / "trace_of_"
    run(
        f"{GROUP}dist.distributed_c10d._abort_process_group()",
        MUSASIM_RELEASE=release,
        TORCH_FR_DUMP_TEMP_FILE=str(prefix),
        TORCH_MCCL_EXTRA_DUMP_ON_EXEC=str(int(asked)),
    )
    file = tmp_path / "trace_of_0"
    assert file.exists() == (asked and release == "2.11.0")
    if file.exists():
        assert [each["profiling_name"] for each in pickle.loads(file.read_bytes())["entries"]] == ["mccl:all_reduce"]


@pytest.mark.parametrize("switch", ["TORCH_MCCL_NAN_CHECK=1", "group._set_enable_nan_check(True)"])
def test_2_9_1_finds_nan(switch: str) -> None:
    by_variable = switch.startswith("TORCH")
    out = run(
        f"""{GROUP}
{"" if by_variable else switch}
dist.all_reduce(torch.tensor([1], device="musa"))
try:
    dist.all_reduce(bad)
except RuntimeError as error:
    print(error)
""",
        MUSASIM_RELEASE="2.9.1",
        **({"TORCH_MCCL_NAN_CHECK": "1"} if by_variable else {}),
    )
    assert out.startswith("MCCL NaN check failed: found NaN in input tensor.")


def test_a_work_of_2_7_1_does_not_block_a_stream() -> None:
    run(
        GROUP
        + """
if hasattr(dist.Work, "block_current_stream"):
    try:
        dist.all_reduce(bad, async_op=True).block_current_stream()
    except RuntimeError as error:
        assert "StreamBlock" in str(error)
    else:
        raise SystemExit("a work of 2.7.1 has blocked a stream")
""",
        MUSASIM_RELEASE="2.7.1",
    )
