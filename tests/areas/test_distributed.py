"""torch.distributed with the backend "nccl", in a group of one process: names, and what torch and programs compare with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

NEWER_THAN_2_7 = hasattr(dist.ProcessGroup, "split_group")


@pytest.fixture
def founded(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """`founded(backend, **more)` makes the group of all, which is this process, and gives it."""

    def found(backend: str | None = None, **more: Any) -> Any:
        if dist.is_initialized():
            dist.destroy_process_group()
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        place.touch()
        dist.init_process_group(backend, init_method=place.as_uri(), rank=0, world_size=1, **more)
        return dist.group.WORLD

    yield found
    if dist.is_initialized():
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


def test_what_torch_asks_of_the_group(founded: Callable[..., Any]) -> None:
    group = founded("nccl")
    assert dist.get_backend_config() == "cuda:nccl" and group.name() == "nccl"
    nccl = group._get_backend(torch.device("cuda"))
    assert nccl.options._timeout == timedelta(minutes=10)
    c10d._set_pg_timeout(timedelta(seconds=90))
    assert nccl.options._timeout == timedelta(seconds=90)
    c10d._add_ephemeral_timeout_for_all_pgs(timedelta(seconds=1))
    assert c10d._get_process_group_uid(group) == nccl.uid


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
