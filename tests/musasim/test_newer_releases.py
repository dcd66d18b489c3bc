"""What torch.musa does since 2.9.1 and 2.11.0, without torchada."""

from __future__ import annotations

import pytest

from support.fresh_process import run as fresh

pytestmark = pytest.mark.once

LATER = ["2.9.1", "2.11.0"]
START = "import torch, torch_musa\n"


def run(release: str, code: str, **env: str) -> str:
    return fresh(START + code, MUSASIM_RELEASE=release, **env)


SYNC = """
import warnings
x = torch.ones(4, device="musa")
assert torch.musa.get_sync_debug_mode() == 0
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as seen:
    torch.musa.set_sync_debug_mode("warn")
    x.sum().item()
texts = [str(each.message) for each in seen]
assert any("prototype feature" in text for text in texts) and any("called a synchronizing MUSA operation" in text for text in texts)
torch.musa.set_sync_debug_mode(2)
for wait in (lambda: x.sum().item(), lambda: x.cpu(), lambda: x.nonzero(), torch.musa.current_stream().synchronize):
    try:
        wait()
    except RuntimeError as error:
        assert "called a synchronizing MUSA operation" in str(error)
    else:
        raise SystemExit("a wait was not noticed")
y = x + 1
for wrong in ("loud", 3):
    try:
        torch.musa.set_sync_debug_mode(wrong)
    except RuntimeError as error:
        assert "invalid value of debug_mode" in str(error)
    else:
        raise SystemExit("a wrong mode was taken")
torch.musa.set_sync_debug_mode("default")
assert y.tolist() == [2.0] * 4
"""


def test_waits_of_the_host_are_reported() -> None:
    run("2.11.0", SYNC)


PROPERTIES = """
assert torch.musa.get_device_properties() is torch.musa.get_device_properties(0)
torch.musa.set_device(1)
here = torch.musa.get_device_properties()
assert here is torch.musa.get_device_properties("musa:1") and here.pci_bus_id == 2
assert here.uuid.bytes == [0] * 15 + [2] and str(here.uuid) == "00000000-0000-0000-0000-000000000002"
assert "', major=3, minor=1," in repr(here) and f"uuid={here.uuid}" in repr(here) and "L2_cache_size=32MB" in repr(here)
assert torch.musa.get_gencode_flags() == "--offload-arch=mp_22 --offload-arch=mp_31"
assert torch.musa.get_amp_supported_dtype() == [torch.float16, torch.float32, torch.bfloat16]
assert torch.musa._lazy_init_mod._initialized is torch.musa._initialized is True
"""


def test_properties_are_of_the_current_device() -> None:
    run("2.11.0", PROPERTIES)


HIDDEN = "import json\nprint(json.dumps([str(torch.musa.get_device_properties(index).uuid) for index in range(COUNT)]))"


@pytest.mark.full
def test_an_identity_is_that_of_the_device_and_not_of_its_number() -> None:
    import json

    both = json.loads(run("2.11.0", HIDDEN.replace("COUNT", "2")))
    turned = json.loads(run("2.11.0", HIDDEN.replace("COUNT", "2"), MUSA_VISIBLE_DEVICES="1,0"))
    assert turned == both[::-1] and len(set(both)) == 2


IPC = """
import json, subprocess, sys
ipc = torch.musa.ipc
numbers = torch.arange(12.0, device="musa:1").view(3, 4)[1:, ::2]
handle = ipc.export_tensor(numbers)
assert ipc.MUSAIPCTensorHandle.from_dict(json.loads(json.dumps(handle.to_dict()))) == handle
assert sorted(handle.to_dict()) == sorted(
    ["shared_storage_info", "dtype", "size", "stride", "storage_offset", "requires_grad", "device_uuid"])
assert handle.dtype is torch.float32 and handle.size == (2, 2) and handle.stride == (4, 2) and handle.storage_offset == 4
assert len(handle.shared_storage_info) == 8 and "storage_handle='len=" in repr(handle) and str(handle) == repr(handle)
for wrong, error in ((3, TypeError), (torch.ones(1), RuntimeError)):
    try:
        ipc.export_tensor(wrong)
    except error:
        pass
    else:
        raise SystemExit("something else was exported")
code = '''
import json, musasim; musasim.install()
import torch, torch_musa
ipc = torch.musa.ipc
handle = ipc.MUSAIPCTensorHandle.from_dict(json.loads(input()))
with ipc.open_tensor(handle) as opened:
    assert opened.tensor.device == torch.device("musa:0"), opened.tensor.device
    assert opened.tensor.tolist() == [[4.0, 6.0], [8.0, 10.0]] and not opened.closed
    opened.tensor.fill_(7)
    torch.musa.synchronize()
assert opened.closed
try:
    opened.tensor
except RuntimeError as error:
    assert "closed" in str(error)
else:
    raise SystemExit("a closed tensor was given")
import dataclasses
for changed, kind in ((dict(device_uuid="other"), RuntimeError), (dict(shared_storage_info=(1, 2)), ValueError)):
    try:
        ipc.open_tensor(dataclasses.replace(handle, **changed))
    except kind:
        pass
    else:
        raise SystemExit("a wrong handle was opened")
'''
import os
subprocess.run([sys.executable, "-c", code], input=json.dumps(handle.to_dict()), text=True, check=True,
               env={**os.environ, "MUSA_VISIBLE_DEVICES": "1,0"})
assert numbers.tolist() == [[7.0, 7.0], [7.0, 7.0]]
"""


@pytest.mark.full
def test_a_tensor_is_opened_on_the_device_of_its_identity() -> None:
    """The other process numbers the devices the other way round."""
    run("2.11.0", IPC)


@pytest.mark.parametrize("release", ["2.7.1", "2.9.1"])
def test_older_releases_have_no_module_ipc(release: str) -> None:
    code = """
try:
    import torch_musa.core.ipc
except ModuleNotFoundError as error:
    assert error.name == "torch_musa.core.ipc" and not hasattr(torch.musa, "ipc")
else:
    raise SystemExit("the module is there")
"""
    run(release, code)


SETTINGS = """
torch.ones(1, device="musa")
assert torch.musa.get_per_process_memory_fraction() == 0.5
torch.musa.set_per_process_memory_fraction(0.75)
assert torch.musa.get_per_process_memory_fraction() == 0.75
"""


def test_the_allocator_reads_torchs_variable() -> None:
    run("2.11.0", SETTINGS, PYTORCH_ALLOC_CONF="per_process_memory_fraction:0.5,pinned_reserve_segment_size_mb:4")


def test_its_own_variable_goes_first() -> None:
    run(
        "2.11.0",
        SETTINGS,
        PYTORCH_ALLOC_CONF="per_process_memory_fraction:0.1",
        PYTORCH_MUSA_ALLOC_CONF="per_process_memory_fraction:0.5,graph_capture_record_stream_reuse:True",
    )


@pytest.mark.parametrize(
    ("release", "option"),
    [
        ("2.7.1", "graph_capture_record_stream_reuse:True"),
        ("2.7.1", "max_non_split_rounding_mb:64"),
        ("2.9.1", "large_segment_size_mb:40"),
        ("2.9.1", "per_process_memory_fraction:0.5"),
        ("2.11.0", "pinned_use_cuda_host_register:True"),
        ("2.11.0", "release_lock_on_cudamalloc:True"),
    ],
)
def test_options_of_other_releases_are_unknown(release: str, option: str) -> None:
    code = f"""
try:
    torch.musa.memory._set_allocator_settings({option!r})
except RuntimeError as error:
    assert "Unrecognized CachingAllocator option" in str(error)
else:
    raise SystemExit("an option of another release was taken")
"""
    run(release, code)


ROUNDING = """
memory_reserved = torch.musa.memory_reserved
torch.musa.memory._set_allocator_settings("max_split_size_mb:64,max_non_split_rounding_mb:100")
block = torch.empty(160 << 20, dtype=torch.uint8, device="musa")
del block
block = torch.empty(70 << 20, dtype=torch.uint8, device="musa")
assert memory_reserved() == 160 << 20, "a block that is 90 MiB too large is taken"
"""


@pytest.mark.parametrize("release", ["2.9.1", "2.11.0"])
def test_how_much_too_large_a_block_may_be_can_be_set(release: str) -> None:
    run(release, ROUNDING)


UNIFIED = """
import os
with torch.musa.use_unified_allocator():
    assert os.environ["CPU_UNIFIED_FLAG"] == "True"
    on_device, on_host = torch.ones(4, device="musa"), torch.ones(4)
assert os.environ["CPU_UNIFIED_FLAG"] == "False" and on_device.tolist() == on_host.tolist()
on_device.untyped_storage().edit_device("cpu")
"""


@pytest.mark.parametrize("release", LATER)
def test_tensors_of_both_lie_in_unified_memory(release: str) -> None:
    run(release, UNIFIED)


PROCESSES = """
assert torch.musa.list_gpu_processes() == "mthreads-gmi not found, please install mthreads-gmi"
import os, musasim.toolkit
os.environ["PATH"] += os.pathsep + str(musasim.toolkit.home() / "bin")
assert "MTT S5000" in torch.musa.list_gpu_processes(1)
"""


@pytest.mark.parametrize("release", LATER)
def test_processes_are_listed_by_the_drivers_tool(release: str) -> None:
    run(release, PROCESSES)


GONE = """
for name in ("_dump_snapshot", "_record_memory_history", "_set_allocator_settings", "memory_stats_all"):
    assert not hasattr(torch.musa, name), name
assert hasattr(torch.musa.memory, "_dump_snapshot") is hasattr(torch.musa, "MemPoolContext") is (RELEASE == "2.9.1")
assert callable(torch.musa.memory.memory_stats_all) and callable(torch.musa.memory._record_memory_history)
assert "caching_allocator_alloc" in torch.musa.memory.__all__ and "memory_stats_all" not in torch.musa.memory.__all__
assert all(hasattr(torch.musa, name) for name in torch.musa.memory.__all__)
"""


@pytest.mark.parametrize("release", LATER)
def test_names_leave_torch_musa_and_stay_in_its_memory(release: str) -> None:
    run(release, f"RELEASE = {release!r}\n{GONE}")


@pytest.mark.parametrize("release", LATER)
def test_the_vendors_own_root_mean_square_normalisation_is_gone(release: str) -> None:
    """Operators and the rules by which DTensor split them; torch's own operator is in their place."""
    code = """
import torch.distributed.tensor
from torch_musa import distributed
for name in ("_fused_rmsnorm_forward", "_fused_rmsnorm_backward"):
    assert not hasattr(torch.ops.aten, name), name
assert not hasattr(distributed, "fused_rmsnorm_strategy") and distributed.tensor.__all__ == []
x = torch.ones(2, 3, device="musa", requires_grad=True)
torch.nn.functional.rms_norm(x, (3,)).sum().backward()
assert x.grad.abs().max() < 1e-5
"""
    run(release, code)


def test_a_face_has_the_names_of_the_release() -> None:
    """One of those that a face takes away left torch_musa with 2.11.0."""
    code = """
        import torch, torch_npu
        assert torch.npu.__version__ == "2.11.0.post2+musasim" and not hasattr(torch.npu, "MemPoolContext")
        torch.npu.caching_allocator_delete(torch.npu.caching_allocator_alloc(1))
        """
    fresh(code, MUSASIM_FACE="npu", MUSASIM_RELEASE="2.11.0")
