"""torch.distributed with the backend "nccl", in a group of one process: names, and what torch and programs compare with them."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import time
import types
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from musasim.base import release
from support.interpreter import Interpreter
from torchada.areas.distributed.options import NCCLConfig
from torchada.redirect.unsupported import UnsupportedError

NEWER_THAN_2_7 = hasattr(dist.ProcessGroup, "split_group")


@pytest.fixture
def founded(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """`founded(backend, **more)` makes the group of all, which is this process, and gives it."""

    def found(backend: str | None = None, **more: Any) -> Any:
        take_down()
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        place.touch()
        dist.init_process_group(backend, init_method=place.as_uri(), rank=0, world_size=1, **more)
        return dist.group.WORLD

    yield found
    take_down()


def take_down() -> None:
    if not dist.is_initialized():
        return
    if not NEWER_THAN_2_7:
        # torch 2.7 takes a group down with Python's lock held, and waits for gloo's threads. One that still gives up what it has
        # gathered needs that lock, so that it would hang, without torchada as well.
        time.sleep(0.1)
    dist.destroy_process_group()


def reduced(group: Any = None, device: str = "cuda") -> torch.Tensor:
    tensor = torch.ones(2, device=device)
    dist.all_reduce(tensor, group=group)
    return tensor


def test_names() -> None:
    assert dist.is_nccl_available() and c10d.is_nccl_available()
    assert dist.is_backend_available("nccl") and dist.is_backend_available("NCCL")
    assert dist.Backend("NCCL") == dist.Backend.NCCL == "nccl"
    assert dist.get_default_backend_for_device("cuda") == "nccl"
    assert dist.get_default_backend_for_device(torch.device("cuda", 1)) == "nccl"
    assert dist.ProcessGroupNCCL is c10d.ProcessGroupNCCL is dist.ProcessGroupMCCL
    from torch._C._distributed_c10d import ProcessGroupNCCL

    assert ProcessGroupNCCL is dist.ProcessGroupNCCL
    everything: dict[str, Any] = {}
    exec("from torch.distributed.distributed_c10d import *", everything)
    assert everything["ProcessGroupNCCL"] is ProcessGroupNCCL
    assert dist.constants.default_pg_nccl_timeout == timedelta(minutes=10)


@pytest.mark.parametrize(
    "backend", ["nccl", "NCCL", "cuda:nccl", "cpu:gloo,cuda:nccl", "cuda:NCCL,cpu:gloo", "cpu:gloo,musa:nccl"]
)
def test_a_group_is_what_it_was_called(founded: Callable[..., Any], backend: str) -> None:
    group = founded(backend)
    assert dist.get_backend() == dist.get_backend(group) == backend.lower()
    assert isinstance(group._get_backend(torch.device("cuda")), dist.ProcessGroupNCCL)
    assert group._get_backend(torch.device("cuda")).name() == "mccl"
    assert torch.device("cuda") in group._device_types
    assert reduced().is_cuda
    if "gloo" in backend:
        assert not reduced(device="cpu").is_cuda
    everyone: list[Any] = [None]
    dist.all_gather_object(everyone, "me")
    assert everyone == ["me"]


@pytest.mark.filterwarnings("ignore:.*_set_pg_timeout:FutureWarning")  # torch 2.15 has a public function beside it
def test_questions_of_torch_to_the_group_are_answered(founded: Callable[..., Any]) -> None:
    group = founded("nccl")
    assert dist.get_backend_config() == "cuda:nccl" and group.name() == "nccl"
    nccl = group._get_backend(torch.device("cuda"))
    assert nccl.options._timeout == timedelta(minutes=10)
    c10d._set_pg_timeout(timedelta(seconds=90))
    assert nccl.options._timeout == timedelta(seconds=90)
    c10d._add_ephemeral_timeout_for_all_pgs(timedelta(seconds=1))
    assert c10d._get_process_group_uid(group) == nccl.uid
    later = dist.new_group([0])
    assert isinstance(later, dist.ProcessGroup)
    assert c10d._get_process_group_uid(later) == nccl.uid + 1  # the process's groups are counted


def test_a_barrier_of_a_group_needs_no_device(founded: Callable[..., Any]) -> None:
    group = founded("nccl")
    group.barrier().wait()
    options = dist.BarrierOptions()
    options.timeout = timedelta(seconds=30)
    group.barrier(options).wait()
    group.barrier(opts=options).wait()
    assert options.device is None
    if group.barrier.__doc__.count("barrier(self") > 1:  # newer torch
        group.barrier(timedelta(seconds=30)).wait()
        group.barrier(timeout=timedelta(seconds=30)).wait()
    options.device = torch.device("cuda")
    group.barrier(options).wait()
    assert options.device is not None
    founded("gloo").barrier().wait()
    founded("cpu:gloo,cuda:nccl").barrier().wait()


def test_the_backend_is_chosen_by_the_device(founded: Callable[..., Any]) -> None:
    founded(device_id=torch.device("cuda", 0))
    assert dist.get_backend() == "nccl"
    assert dist.group.WORLD.bound_device_id == torch.device("cuda", 0)
    assert reduced().is_cuda
    group = founded()
    assert dist.get_backend_config() == "musa:nccl" and isinstance(
        group._get_backend(torch.device("cuda")), dist.ProcessGroupNCCL
    )


def test_programs_for_the_device_itself_go_on(founded: Callable[..., Any]) -> None:
    for backend in ("mccl", "cpu:gloo,musa:mccl", "cuda:mccl"):
        founded(backend)
        assert dist.get_backend() == backend
        assert reduced(device="musa").is_cuda
    assert dist.is_mccl_available() and dist.Backend.MCCL == "mccl"
    assert dist.get_backend(dist.new_group(backend="nccl")) == "nccl"


def test_further_groups(founded: Callable[..., Any]) -> None:
    founded("nccl", device_id=torch.device("cuda", 0))
    options = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
    options._timeout = timedelta(minutes=5)
    groups = [
        dist.new_group(),
        dist.new_group([0], backend="nccl", timeout=timedelta(minutes=5), pg_options=options),
        dist.new_group(backend="cpu:gloo,cuda:nccl"),
        dist.new_subgroups(1, backend="nccl")[0],
        dist.new_subgroups_by_enumeration([[0]], backend="nccl")[0],
        dist.split_group(split_ranks=[[0]]),
    ]
    for group in groups:
        assert reduced(group).is_cuda
    assert [dist.get_backend(group) for group in groups] == [
        "nccl",
        "nccl",
        "cpu:gloo,cuda:nccl",
        "nccl",
        "nccl",
        "nccl",
    ]
    nccl = groups[1]._get_backend(torch.device("cuda"))
    assert nccl.options.is_high_priority_stream and nccl.options._timeout == timedelta(minutes=5)


def test_wrong_names_are_refused_as_ever(founded: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError, match="Unknown c10d backend type NCLL"):
        founded("cuda:ncll")
    with pytest.raises(ValueError, match="Invalid device:backend pairing"):
        founded("cuda:nccl:gloo")


@pytest.mark.skipif(
    "backend" not in inspect.signature(dist.split_group).parameters,
    reason="split_group(backend=) came after torch 2.11",
)
def test_a_split_may_keep_some_devices(founded: Callable[..., Any]) -> None:
    founded("cpu:gloo,cuda:nccl", device_id=torch.device("cuda", 0))
    part = dist.split_group(split_ranks=[[0]], backend="nccl")
    assert dist.get_backend(part) == "nccl" and reduced(part).is_cuda
    assert torch.device("cpu") not in part._device_types
    with pytest.raises(ValueError, match="Backend mismatch"):
        dist.split_group(split_ranks=[[0]], backend="cuda:gloo")
    founded("nccl", device_id=torch.device("cuda", 0))
    assert reduced(dist.split_group(split_ranks=[[0]], backend="cuda:nccl")).is_cuda
    founded("mccl", device_id=torch.device("cuda", 0))
    assert dist.get_backend(dist.split_group(split_ranks=[[0]], backend="mccl")) == "mccl"


def test_a_part_is_found_by_its_own_tag_alone(founded: Callable[..., Any]) -> None:
    """torch enters what new_group makes under the empty tag as well, and what split_group makes only under its own."""
    whole = founded("nccl", device_id=torch.device("cuda", 0))
    made, part = dist.new_group([0]), dist.split_group(split_ranks=[[0]])
    inside = dist.split_group(part, [[0]])
    world = c10d._world
    assert [world.pg_to_tag[group] for group in (part, inside)] == [f"ptd:{g.group_name}" for g in (part, inside)]
    assert [world.tags_to_pg[f"ptd:{group.group_name}"] for group in (part, inside)] == [[part], [inside]]
    assert world.tags_to_pg[""] == [whole, made]
    assert c10d._find_pg_by_ranks_and_tag("", [0]) is whole
    dist.destroy_process_group(part)
    assert world.tags_to_pg[""] == [whole, made]


def test_subgroups_have_the_size_of_a_machine(founded: Callable[..., Any]) -> None:
    founded("nccl")
    for arguments in ((), (None,)):
        with pytest.raises(ValueError, match=r"'group_size' \(2\) must not exceed the world size"):
            dist.new_subgroups(*arguments)
    assert dist.new_subgroups is c10d.new_subgroups and dist.new_subgroups.__name__ == "new_subgroups"


def test_options_of_nccl_are_remembered(founded: Callable[..., Any]) -> None:
    options, others = dist.ProcessGroupNCCL.Options(), dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
    options.config.max_ctas, options.config.cga_cluster_size = 32, 4
    assert (options.config.max_ctas, others.config.max_ctas, options.config.net_name) == (32, -(2**31), None)
    others.config = options.config
    options.config.max_ctas = 16
    assert (others.config.cga_cluster_size, others.config.max_ctas) == (4, 32), "a copy, as on CUDA"
    assert dist.ProcessGroupNCCL.NCCL_CTA_POLICY_ZERO == 2
    with pytest.raises(AttributeError):
        options.config.max_ctsa = 1
    founded("nccl", pg_options=options)
    assert reduced().is_cuda


def test_the_backends_library_is_told_what_it_has_a_preference_for() -> None:
    mccl = SimpleNamespace(max_ctas=0, blocking=0)
    config = NCCLConfig(mccl)
    config.max_ctas, config.net_name = 8, "Socket"
    assert vars(mccl) == {"max_ctas": 8, "blocking": 0}


def test_the_device_type_of_a_mesh_answers_by_who_asks(
    founded: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch.distributed.device_mesh import init_device_mesh

    founded()
    mesh = init_device_mesh("cuda", (1,))
    plain = {"mesh": mesh, "torch": torch, "__name__": ""}  # code without a name, as exec runs it
    assert eval("mesh.device_type", plain) == "cuda" and mesh.device_type == "musa"
    assert "musa" in repr(mesh)  # this file knows MUSA
    assert eval("repr(mesh)", plain) == repr(mesh).replace("musa", "cuda")
    program = types.ModuleType("program_of_a_user")  # which torch.compile of torch 2.7 looks up by its name
    monkeypatch.setitem(sys.modules, program.__name__, program)
    vars(program)["mesh"] = mesh
    exec("def scaled(x): return x * 2 if mesh.device_type == 'cuda' else x * 3", vars(program))
    x = torch.ones(1, device="cuda")
    for scaled in (program.scaled, torch.compile(program.scaled, backend="eager", fullgraph=True)):
        assert scaled(x).tolist() == [2]


def test_meshes(founded: Callable[..., Any]) -> None:
    from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

    founded()
    mesh = init_device_mesh("cuda", (1, 1), mesh_dim_names=("dp", "tp"))
    assert mesh.device_type == "musa" and dist.get_backend_config() == "musa:nccl"
    assert reduced(mesh["tp"].get_group()).is_cuda
    assert DeviceMesh("cuda", [0]) == DeviceMesh(device_type="musa", mesh=[0]) == DeviceMesh("cuda", torch.tensor([0]))
    assert DeviceMesh("cpu", [0]).device_type == "cpu"
    founded("nccl", device_id=torch.device("cuda", 0))
    assert DeviceMesh.from_group(dist.group.WORLD, "cuda").get_group() is dist.group.WORLD
    if NEWER_THAN_2_7:
        options = dist.ProcessGroupNCCL.Options()
        for override in ({"dp": "nccl"}, {"dp": ("nccl", options), 1: options}, {"tp": "cpu:gloo,cuda:nccl"}):
            mesh = init_device_mesh("cuda", (1, 1), mesh_dim_names=("dp", "tp"), backend_override=override)
            assert reduced(mesh["dp"].get_group()).is_cuda and reduced(mesh["tp"].get_group()).is_cuda
    with pytest.raises(RuntimeError, match="Device type with index is not supported"):
        init_device_mesh("cuda:0", (1,))


VARIABLES = (
    "NCCL_DEBUG",
    "NCCL_IB_HCA",
    "TORCH_NCCL_BLOCKING_WAIT",
    "TORCH_NCCL_CUDA_EVENT_CACHE",
    "NCCL_ALGO",
    "NCCL_VERSION",
)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    from torchada.base.settings import COLLECTIVES

    own = ("MCCL_DEBUG", "MCCL_IB_HCA", "TORCH_MCCL_BLOCKING_WAIT", "TORCH_MCCL_MUSA_EVENT_CACHE", COLLECTIVES.name)
    for name in (*VARIABLES, *own):
        monkeypatch.delenv(name, raising=False)
    yield monkeypatch
    for name in own:
        os.environ.pop(name, None)


def test_variables_are_set_for_the_library(founded: Callable[..., Any], environment: pytest.MonkeyPatch) -> None:
    environment.setenv("NCCL_DEBUG", "INFO")
    environment.setenv("TORCH_NCCL_CUDA_EVENT_CACHE", "0")
    environment.setenv("NCCL_VERSION", "2.26.2")
    environment.setenv("NCCL_IB_HCA", "mlx5")
    environment.setenv("MCCL_IB_HCA", "mlx5_0")
    assert "MCCL_DEBUG" not in os.environ
    founded("nccl")
    assert os.environ["MCCL_DEBUG"] == "INFO" and os.environ["TORCH_MCCL_MUSA_EVENT_CACHE"] == "0"
    assert os.environ["MCCL_IB_HCA"] == "mlx5_0" and "MCCL_VERSION" not in os.environ
    environment.setenv("NCCL_DEBUG", "WARN")
    environment.delenv("TORCH_NCCL_CUDA_EVENT_CACHE")
    dist.new_group()
    assert os.environ["MCCL_DEBUG"] == "WARN" and "TORCH_MCCL_MUSA_EVENT_CACHE" not in os.environ
    os.environ["MCCL_DEBUG"] = "TRACE"  # from here on it is the user's
    environment.setenv("NCCL_DEBUG", "INFO")
    dist.new_group()
    assert os.environ["MCCL_DEBUG"] == "TRACE"


def test_variables_without_a_counterpart_are_named_once(
    founded: Callable[..., Any], environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("NCCL_ALGO", "Ring")
    environment.setenv("TORCH_NCCL_USE_COMM_NONBLOCKING", "1")
    with contextlib.suppress(KeyError):
        from torchada.base import warnings

        del warnings._said["NCCL_ALGO, TORCH_NCCL_USE_COMM_NONBLOCKING have no counterpart in MCCL"]
    founded("nccl")
    dist.new_group()
    said = capsys.readouterr().err  # warnings are errors here, and those go to stderr
    assert said.count("NCCL_ALGO, TORCH_NCCL_USE_COMM_NONBLOCKING have no counterpart in MCCL") == 1


def test_apis_without_counterpart_raise_unsupported_error(founded: Callable[..., Any]) -> None:
    import torch.distributed._symmetric_memory as symmetric_memory
    from torch.distributed import rpc

    if not release.since("2.9.1"):
        with pytest.raises(
            UnsupportedError, match=r"_symmetric_memory\..* has no counterpart on [A-Z]+: this torch_musa gives"
        ):
            symmetric_memory.empty(4, device="cuda")
        with pytest.raises(UnsupportedError, match=r"_symmetric_memory\.rendezvous has no counterpart"):
            symmetric_memory.rendezvous(torch.ones(2, device="cuda"), founded("nccl"))
    with pytest.raises(UnsupportedError, match=r"device_maps=\) has no counterpart on [A-Z]+: TensorPipe"):
        rpc.TensorPipeRpcBackendOptions(device_maps={"worker": {0: 1}})
    with pytest.raises(UnsupportedError, match=r"devices=\) has no counterpart"):
        rpc.TensorPipeRpcBackendOptions(devices=["cuda:0"])
    assert rpc.TensorPipeRpcBackendOptions(device_maps={"worker": {"cpu": "cpu"}}).device_maps
    assert not rpc.TensorPipeRpcBackendOptions().device_maps


def test_a_stream_waits_for_a_work(founded: Callable[..., Any]) -> None:
    if not hasattr(dist.Work, "block_current_stream"):
        pytest.skip("the works of this torch do not block streams")
    founded("nccl")
    tensor = torch.ones(2, device="cuda")
    dist.all_reduce(tensor, async_op=True).block_current_stream()
    assert tensor.tolist() == [1, 1]


def test_memory_is_registered_without_effect(founded: Callable[..., Any]) -> None:
    group = founded("nccl")._get_backend(torch.device("cuda"))
    if not isinstance(getattr(type(group), "mem_allocator", None), property):
        pytest.skip("the groups of this torch have no allocator")
    reduced()  # the communicator is made by the first call, on CUDA too
    pool = torch.cuda.MemPool(group.mem_allocator)
    with torch.cuda.use_mem_pool(pool):
        tensor = torch.ones(2, device="cuda")
    group.register_mem_pool(pool)
    dist.all_reduce(tensor)
    group.deregister_mem_pool(pool)
    assert tensor.tolist() == [1, 1]


@pytest.mark.parametrize("by_variable", [True, False])
def test_what_is_not_a_number_is_not_sent(
    founded: Callable[..., Any], environment: pytest.MonkeyPatch, by_variable: bool
) -> None:
    import torch.distributed._functional_collectives as functional

    if by_variable:
        environment.setenv("TORCH_NCCL_NAN_CHECK", "1")
    group = founded("nccl")
    if not by_variable:
        group._get_backend(torch.device("cuda"))._set_enable_nan_check(True)
    bad = torch.tensor([1.0, float("nan")], device="cuda")
    for send in (lambda: dist.all_reduce(bad), lambda: functional.all_reduce(bad, "sum", group)):
        with pytest.raises(RuntimeError, match=r"NAN_CHECK: allreduce would send|NaN check failed"):
            send()
    dist.all_gather([bad], torch.ones(2, device="cuda"))  # what is received may be anything before
    assert reduced().tolist() == bad.tolist() == [1, 1]
    group._get_backend(torch.device("cuda"))._set_enable_nan_check(False)
    dist.all_reduce(bad.fill_(float("nan")))
    os.environ.pop("TORCH_MCCL_NAN_CHECK", None)  # ranks of later tests would start with what torchada has copied


def test_what_the_library_does_not_tell_is_refused(founded: Callable[..., Any]) -> None:
    from torch._C._distributed_c10d import _dump_nccl_trace, _dump_nccl_trace_json

    for dump in () if release.since("2.9.1") else (_dump_nccl_trace, _dump_nccl_trace_json):
        with pytest.raises(
            UnsupportedError, match=r"_dump_nccl_trace.* has no counterpart on MUSA: this torch_musa has"
        ):
            dump()
    tell = founded("nccl")._get_backend(torch.device("cuda"))._comm_ptr
    if release.since("2.9.1"):
        assert tell() == 0 and reduced().tolist() == [1, 1] and tell() != 0
    else:
        with pytest.raises(
            UnsupportedError, match=r"ProcessGroupNCCL\._comm_ptr has no counterpart on MUSA: this torch_musa"
        ):
            tell()


def test_a_hook_for_completions_is_refused_with_a_way_out(founded: Callable[..., Any]) -> None:
    group = founded("nccl")
    with pytest.raises(
        UnsupportedError, match=r"_register_on_completion_hook has no counterpart on \w+: .*get_future\(\)\.then"
    ):
        group._register_on_completion_hook(print)
    seen: list[Any] = []
    x = torch.ones(2, device="cuda")
    dist.all_reduce(x, async_op=True).get_future().then(seen.append).wait()
    assert len(seen) == 1
    with pytest.raises(RuntimeError, match="gloo") as refusal:  # as on CUDA
        dist.new_group([0], backend="gloo")._register_on_completion_hook(print)
    assert not isinstance(refusal.value, UnsupportedError)


def test_hashes_of_tensors() -> None:
    from torch._C._distributed_c10d import _hash_tensors

    one = torch.arange(6.0, device="cuda").view(2, 3)
    assert _hash_tensors([one]) == _hash_tensors([one.clone()]) == _hash_tensors([one.t().contiguous().t()])
    assert _hash_tensors([one]) != _hash_tensors([one + 1])


def test_debugging_in_detail(founded: Callable[..., Any]) -> None:
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    try:
        founded("nccl")
        everyone: list[Any] = [None]
        dist.all_gather_object(everyone, {"x": torch.ones(2, device="cuda")})  # torch logs hashes of what is sent
        assert everyone[0]["x"].is_cuda and reduced().is_cuda
    finally:
        dist.set_debug_level(dist.DebugLevel.OFF)


def test_a_group_of_all_by_gloo_takes_tensors_of_the_device(founded: Callable[..., Any]) -> None:
    """Also where the first tensor comes through C++."""
    founded("gloo")
    import torch.distributed._functional_collectives as functional

    total = functional.all_reduce(torch.ones(2, device="cuda"), "sum", dist.group.WORLD)
    assert total.is_cuda and (total + 0).tolist() == [1, 1]
    assert dist.get_backend() == "gloo" and not reduced(device="cpu").is_cuda
    assert reduced().is_cuda and reduced().tolist() == [1, 1]


def test_a_message_by_gloo_says_when_and_from_whom_it_has_come(founded: Callable[..., Any]) -> None:
    from torchada.areas.distributed._staging import Staging

    class Arriving:
        """A work of gloo's, which fails once."""

        waits = 0

        def wait(self) -> bool:
            self.waits += 1
            if self.waits == 1:
                raise RuntimeError("timed out")
            return True

        def source_rank(self) -> int:
            return 3

    founded("gloo")
    staging = Staging(types.SimpleNamespace(torch=torch))  # type: ignore[arg-type]
    received, sent = torch.zeros(2, device="cuda"), torch.tensor([1.0, 2.0])
    work = staging._waiting_work(Arriving(), [received], [sent])
    staging._unfinished.add(work)
    with pytest.raises(RuntimeError, match="timed out"):
        work.wait()
    assert not work.is_completed() and not staging._unfinished
    assert work.wait() and work.is_completed() and received.tolist() == [1, 2]
    assert work.source_rank() == 3


def test_a_child_tells_our_values_from_the_users(environment: pytest.MonkeyPatch) -> None:
    """It inherits both, and the list of what torchada has set."""
    from torchada.backends.musa import MUSA
    from torchada.base.settings import COLLECTIVES
    from torchada.redirect.mirrors.collectives import MirroredVariables

    environment.setenv("MCCL_DEBUG", "INFO")
    environment.setenv("MCCL_IB_HCA", "mlx5_0")
    environment.setenv(COLLECTIVES.name, '{"MCCL_DEBUG": "INFO", "MCCL_SOCKET_IFNAME": "eth0"}')
    environment.setenv("NCCL_DEBUG", "WARN")
    environment.setenv("NCCL_IB_HCA", "mlx5")
    variables = MirroredVariables(MUSA.collectives.variables, "MCCL")
    variables.bring_up_to_date()  # not in force yet
    assert os.environ["MCCL_DEBUG"] == "INFO"
    variables.set("NCCL", "MCCL")
    variables.bring_up_to_date()
    assert os.environ["MCCL_DEBUG"] == "WARN" and os.environ["MCCL_IB_HCA"] == "mlx5_0"
    variables.delete("NCCL")
    assert "MCCL_DEBUG" not in os.environ and COLLECTIVES.read() is None and os.environ["MCCL_IB_HCA"] == "mlx5_0"


def test_everything_is_put_back(musa: Interpreter, tmp_path: Path) -> None:
    found = musa.json(
        f"""
        import json, os, sys
        os.environ["NCCL_DEBUG"] = "WARN"
        import torch, torchada
        import torch.distributed as dist
        from torch.distributed.device_mesh import DeviceMesh
        from torch.distributed import rpc
        c10d = dist.distributed_c10d

        def look():
            return [dist.is_nccl_available(), hasattr(dist, "ProcessGroupNCCL"), hasattr(c10d, "ProcessGroupNCCL"),
                    "ProcessGroupNCCL" in c10d.__all__, dist.Backend.default_device_backend_map["musa"],
                    hasattr(dist.ProcessGroupMCCL, "NCCLConfig"), DeviceMesh.__init__.__code__.co_name,
                    type(dist.new_subgroups).__name__, os.environ.get("MCCL_DEBUG"),
                    [name for name in os.environ if "MIRRORED" in name]]

        dist.init_process_group("nccl", init_method="file://{tmp_path}/meeting", rank=0, world_size=1)
        applied = look()
        with torchada.disabled():
            undone = look()
            dist.all_reduce(x := torch.ones(1, device="musa"))  # the group that was made goes on
            device_map = str(rpc.TensorPipeRpcBackendOptions(device_maps={{"worker": {{"musa:0": "musa:0"}}}}).device_maps)
        again = look()
        dist.new_group(backend="nccl")
        print(json.dumps([applied, undone, again, look()[-2], dist.get_backend(), device_map.count("musa")]))
        """
    )
    applied, undone, again, variable, backend, devices = found
    native = torch.version.cuda is not None  # a build for CUDA has these of its own
    assert applied[:6] == [True, True, True, True, "nccl", True] and applied[-2:] == [
        "WARN",
        ["TORCHADA_MIRRORED_COLLECTIVES"],
    ]
    assert undone == [native, native, native, native, "mccl", False, "__init__", "function", None, []]
    assert again[:-2] == applied[:-2] and again[-2] is None
    assert (variable, backend, devices) == ("WARN", "nccl", 2)


@pytest.mark.full
def test_torchrun_counts_devices(musa: Interpreter, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os\nopen(os.environ['RANK'], 'w').write(os.environ['LOCAL_WORLD_SIZE'])\n")
    musa.cwd = tmp_path
    musa.env["PET_NPROC_PER_NODE"] = "gpu"
    musa.run(["-W", "ignore", "-m", "torch.distributed.run", "--standalone", str(script)])
    assert [(tmp_path / rank).read_text() for rank in "01"] == ["2", "2"]
    parse = """
        from torch.distributed.run import determine_local_world_size, parse_args
        for arguments in (["--nproc-per-node=gpu"], ["--nproc_per_node", "auto"], ["--nproc-per-node=3"]):
            print(determine_local_world_size(parse_args([*arguments, "x.py"]).nproc_per_node))
        """
    assert musa.run(parse).stdout.split() == ["2", "2", "3"]


def test_a_device_after_the_options_is_left_out() -> None:
    """torch 2.15 constructs ProcessGroupNCCL with one."""
    store = dist.HashStore()
    options = dist.ProcessGroupNCCL.Options()
    group = dist.ProcessGroupNCCL(store, 0, 1, options, torch.device("cuda", 0))
    assert group.size() == 1
    with pytest.raises(TypeError):
        dist.ProcessGroupNCCL(store, 0, 1, options, torch.device("cuda", 0), "more")


@pytest.mark.full
def test_a_group_of_gloo_is_taken_down_right_after_its_last_collective(musa: Interpreter, tmp_path: Path) -> None:
    """Each thread keeps Python's lock for as long as it likes, so that none of gloo's gets it while the group is taken down."""
    code = f"""
    import faulthandler, sys
    faulthandler.dump_traceback_later(60, exit=True)
    import torch, torch.distributed as dist
    sys.setswitchinterval(0.05)
    for turn in range(20):
        dist.init_process_group("gloo", init_method=f"file://{tmp_path}/{{turn}}", rank=0, world_size=1)
        total = torch.ones(2, device="cuda")
        dist.all_reduce(total)
        dist.destroy_process_group()
    print(total.tolist())
    """
    assert musa.run(code).stdout.endswith("[1.0, 1.0]\n")
