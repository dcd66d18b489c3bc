"""Tensors that change their data, from one type of device to another."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


def test_capability_data_across_devices() -> None:
    """`x.data = y.cuda()` keeps x, what it is and what it knows."""
    x = nn.Parameter(torch.ones(2))
    x.tag = "mine"  # type: ignore[attr-defined]
    optimizer = torch.optim.SGD([x], lr=1.0)
    before, value = id(x), torch.full((3,), 2.0, device="cuda:1")
    x.data = value
    assert id(x) == before and type(x) is nn.Parameter and x.requires_grad and x.is_leaf
    assert x.device == value.device and x.data_ptr() == value.data_ptr() and x.tag == "mine"
    x.sum().backward()
    optimizer.step()
    assert x.tolist() == [1, 1, 1]
    x.data = x.data.cpu()
    assert x.device.type == "cpu" and x.tolist() == [1, 1, 1]
    assert x.grad is not None and x.grad.device == value.device  # it stays where it is
    x.data = x.data.cuda()
    x.data = x.data.to("cuda:1")
    assert x.device == torch.device("cuda:1")


def test_data_of_a_tensor_in_a_graph() -> None:
    """The graph knows the same tensor afterwards: its gradient arrives (FSDP's offloading to the CPU lives on that)."""
    x = nn.Parameter(torch.ones(2, device="cuda"))
    view, loss = x.view(2), (x * 3).sum()
    x.data = x.detach().cpu()
    x.data = torch.full((2,), 5.0, device="cuda")
    loss.backward()
    assert x.grad is not None and x.grad.tolist() == [3, 3] and view.tolist() == [1, 1]
    y = x.detach() * 2
    y.data = torch.ones(2)
    assert y.device.type == "cpu"


def test_data_that_does_not_fit_keeps_torchs_error() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(TypeError):
        x.data = 3
    with pytest.raises(RuntimeError):
        x.data = torch.ones(2, dtype=torch.int64)


def test_data_that_does_not_fit_a_subclass() -> None:
    """Its __torch_function__ assigns within the assignment; that used to wait for itself."""

    class Own(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Own)
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        x.data = torch.zeros(2, device="cuda").to_sparse()
    x.data = torch.zeros(2, device="cuda")
    assert x.is_cuda and type(x) is Own


@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype")
def test_data_of_other_layouts_gives_way_as_on_cuda() -> None:
    """Sparse tensors take the data of sparse ones of the same type of device, nested ones are in no case dense."""
    sparse, fits = torch.eye(2).to_sparse(), torch._has_compatible_shallow_copy_type
    nested = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])
    assert fits(sparse.cuda(), sparse.cuda("cuda:1"))
    assert not fits(sparse.cuda(), sparse.to_dense().cuda()) and not fits(torch.ones(2), sparse.cuda())
    assert not fits(nested, torch.ones(2, device="cuda"))
    assert not fits(torch.ones(2, device="meta"), torch.ones(2, device="cuda"))


def test_data_is_no_operator_for_dispatch_modes() -> None:
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **kwargs or {})

    x, value = torch.ones(2), torch.zeros(2, device="cuda")
    with Mode():
        x.data = value
    assert x.is_cuda and not seen


def test_data_in_compiled_code() -> None:
    @torch.compile(backend="eager", fullgraph=True)
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x.data * 2

    assert doubled(torch.ones(2, device="cuda", requires_grad=True)).tolist() == [2, 2]


def test_set_stays_on_one_device() -> None:
    x, y = torch.zeros(2, device="cuda:0"), torch.ones(2, device="cuda:0")
    x.set_(y)
    assert x.data_ptr() == y.data_ptr()
    with pytest.raises(RuntimeError, match="devices must match"):
        x.set_(torch.ones(2, device="cuda:1"))


@pytest.mark.full
@pytest.mark.skipif(os.environ.get("MUSASIM_STOCK_TORCH") == "1", reason="this is the run that the test starts")
def test_on_a_torch_that_does_not_list_the_device() -> None:
    """The tests above once more: the simulator has the vendor's torch, which moves data by itself; PyPI's does not."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", __file__]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, env={**env, "MUSASIM_STOCK_TORCH": "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "passed, 1 skipped" in done.stdout, done.stdout
