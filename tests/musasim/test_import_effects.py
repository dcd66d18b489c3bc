"""What `import torch_musa` changes in torch since 2.9.1: parts of torch.numa.binding and _symmetric_memory, lazy copies, mccl."""

from __future__ import annotations

import pytest

from support.fresh_process import run as fresh

pytestmark = pytest.mark.once

START = "import torch, torch_musa\n"
RELEASES = ["2.7.1", "2.9.1", "2.11.0"]


def run(release: str, code: str, **env: str) -> str:
    return fresh(START + code, MUSASIM_RELEASE=release, **env)


# --- torch.numa.binding ----------------------------------------------------------------------------------------------

HELPERS = [
    "_assemble_numactl_command_args",
    "_get_gpu_count",
    "_get_numa_node_index_for_gpu_index",
    "_raise_if_binding_invalid",
]
REPLACED = """
from torch.numa import binding
print(sorted(name for name, value in vars(binding).items() if getattr(value, "__module__", "").startswith("torch_musa")))
"""


def has_helpers() -> bool:
    binding = pytest.importorskip("torch.numa.binding", reason="this torch binds no processes")
    return all(hasattr(binding, name) for name in HELPERS)


@pytest.mark.parametrize("release", RELEASES)
def test_2_11_0_replaces_four_helpers_of_numa_binding(release: str) -> None:
    expected = HELPERS if has_helpers() and release == "2.11.0" else []
    assert run(release, REPLACED).strip() == str(expected)


COMMANDS = """
from torch.numa import binding
import os, shutil
assert binding._get_gpu_count() == 2
def tool(name):
    path = f"{os.getcwd()}/{name}"
    open(path, "w").close()
    os.chmod(path, 0o700)
    return path
def command():
    return binding._assemble_numactl_command_args(original_command_args=("run", "it"), logical_cpu_indices={0, 1, 3})
def refused(text, action):
    try:
        action()
    except RuntimeError as error:
        assert text in str(error), error
    else:
        raise SystemExit(f"expected: {text}")
os.environ["PATH"] = os.getcwd()
refused("numactl or taskset CLI is required", command)
refused("numactl or taskset CLI is required", lambda: binding._raise_if_binding_invalid(logical_cpu_indices={1}))
taskset = tool("taskset")
assert command() == (taskset, "--cpu-list", "0-1,3", "run", "it"), command()
binding._raise_if_binding_invalid(logical_cpu_indices={1})
refused("non-empty set", lambda: binding._raise_if_binding_invalid(logical_cpu_indices=set()))
numactl = tool("numactl")
assert command() == (numactl, "--physcpubind=0-1,3", "run", "it"), command()
"""


def test_a_process_is_bound_by_numactl_or_else_by_taskset(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_helpers():
        pytest.skip("this torch finds the node of a device in another way")
    run("2.11.0", f"import os; os.chdir({str(tmp_path)!r})\n{COMMANDS}")


# --- torch.distributed._symmetric_memory -------------------------------------------------------------------------------

FUNCTIONS = {
    "2.7.1": [],
    "2.9.1": ["_low_contention_all_gather", "_low_contention_reduce_scatter", "get_symm_mem_workspace"],
    "2.11.0": [
        "_low_contention_all_gather",
        "_low_contention_allreduce",
        "_low_contention_reduce_scatter",
        "_pipelined_multi_all_gather_and_consume",
        "_pipelined_produce_and_all2all",
        "get_symm_mem_workspace",
    ],
}
SYMMETRIC = """
import torch.distributed as dist
from torch.distributed import _symmetric_memory as module
replaced = {name for name, value in vars(module).items() if getattr(value, "__module__", "").startswith("torch_musa")}
print(sorted(replaced - {"has_triton"}))  # which torch 2.15 imports there
print(hasattr(torch.ops.symm_mem, "_low_contention_allreduce"))
dist.init_process_group("mccl", store=dist.HashStore(), rank=0, world_size=1)
group = dist.group.WORLD.group_name
print(torch.ops.symm_mem._low_contention_all_gather(torch.ones(4, device="musa"), group).tolist())
print(torch.ops.symm_mem._low_contention_reduce_scatter(torch.ones(4, device="musa"), "sum", group).tolist())
print(module.get_symm_mem_workspace(group, 8).buffer_size >= 8)
"""


@pytest.mark.parametrize("release", RELEASES[1:])
def test_functions_for_symmetric_memory_are_replaced(release: str) -> None:
    names, allreduce, *answers = run(release, SYMMETRIC).strip().splitlines()
    assert names == str(FUNCTIONS[release]) and allreduce == str(release == "2.11.0")
    assert answers == [str([1.0] * 4)] * 2 + ["True"]


def test_2_7_1_has_no_symmetric_memory() -> None:
    code = SYMMETRIC[: SYMMETRIC.index("dist.init")]
    assert run("2.7.1", code).splitlines() == ["[]", "False"]


# --- copies that are made where they are needed ------------------------------------------------------------------------

LAZY = """
outside = torch.ones(3)
try:
    outside.lazy_to("musa")
except RuntimeError as error:
    assert "requires unified memory" in str(error), error
else:
    raise SystemExit("a copy was left out where memory is not unified")
with torch.musa.use_unified_allocator():
    tensor = torch.arange(6.0).view(2, 3)
    address = tensor.data_ptr()
    assert tensor.lazy_to("musa:1") is tensor and tensor.device == torch.device("musa:1")
    assert tensor.data_ptr() == address and (tensor + 1).sum().item() == 21
    assert tensor.lazy_musa() is tensor and tensor.device == torch.device("musa:0")
    assert tensor.lazy_to(1).device == torch.device("musa:1")
    assert tensor.lazy_to("cpu") is tensor and tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    half = tensor.lazy_to("musa", torch.float16)
    assert half is not tensor and half.dtype == torch.float16 and tensor.device.type == "cpu"
    copied = outside.lazy_to("musa")
    assert copied is not outside and copied.device.type == "musa" and outside.device.type == "cpu"
    layer = torch.nn.Linear(3, 2)
    weight, address = layer.weight, layer.weight.data_ptr()
    assert layer.lazy_to("musa") is layer and layer.weight is weight
    assert weight.device.type == "musa" and weight.data_ptr() == address
    layer(torch.ones(1, 3, device="musa")).sum().backward()
    assert weight.grad.tolist() == [[1, 1, 1]] * 2
    assert layer.lazy_to("cpu", torch.float64).weight.dtype == torch.float64
"""


@pytest.mark.parametrize("release", ["2.9.1", "2.11.0"])
def test_tensors_of_unified_memory_change_their_device_without_a_copy(release: str) -> None:
    run(release, LAZY)


def test_2_7_1_has_no_lazy_copies() -> None:
    run("2.7.1", "assert not hasattr(torch.Tensor, 'lazy_to') and not hasattr(torch.nn.Module, 'lazy_to')")


# --- the process group -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", RELEASES)
def test_mccl_is_registered_with_the_extended_interface(release: str) -> None:
    code = "print(torch.distributed.Backend._plugins['MCCL'].extended_api)"
    assert run(release, code).strip() == str(release != "2.7.1")
