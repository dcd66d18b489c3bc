"""From host to device: pinned memory, DataLoader, copies that do not wait, save_on_cpu."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import pytest
import torch
from torch.autograd.graph import save_on_cpu
from torch.utils.data import DataLoader, TensorDataset

from support.interpreter import TORCH

DATA = TensorDataset(torch.arange(8.0))
VALUES = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]
# torch's own word about an argument that later versions ignore, on CUDA as well.
DEPRECATED = pytest.mark.filterwarnings("ignore:.*(pin_memory_device|argument 'device' of).*deprecated")


class Point(NamedTuple):
    x: torch.Tensor
    label: str


class Batch:
    """A batch type with a pin_memory method of its own."""

    def __init__(self, samples: list[tuple[torch.Tensor]]) -> None:
        self.values = torch.stack([sample[0] for sample in samples])

    def pin_memory(self, *args: Any) -> Batch:
        self.values = self.values.pin_memory()
        return self


def as_batch(samples: Any) -> Batch:
    return Batch(samples)


def as_point(samples: Any) -> dict[str, Point]:
    return {"point": Point(torch.stack([sample[0] for sample in samples]), "a")}


@DEPRECATED
@pytest.mark.parametrize("workers", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}])
@pytest.mark.parametrize("device", [{}, {"pin_memory_device": "cuda"}, {"pin_memory_device": "cuda:1"}])
def test_data_loader(workers: dict[str, Any], device: dict[str, Any]) -> None:
    loader = DataLoader(DATA, batch_size=4, pin_memory=True, **workers, **device)
    for _ in range(2):
        batches = [batch for (batch,) in loader]
        assert all(batch.is_pinned() for batch in batches)
        assert [batch.cuda(non_blocking=True).tolist() for batch in batches] == VALUES


@pytest.mark.skipif(
    TORCH == (2, 9), reason="the loader of torch 2.9 names a device, which it has deprecated, on CUDA as well"
)
def test_data_loader_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(DataLoader(DATA, batch_size=4, pin_memory=True))


@DEPRECATED
@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader_with_a_batch_type(workers: int) -> None:
    for batch in DataLoader(DATA, batch_size=4, pin_memory=True, num_workers=workers, collate_fn=as_batch):
        assert isinstance(batch, Batch) and batch.values.is_pinned()
    for batch in DataLoader(DATA, batch_size=4, pin_memory=True, num_workers=workers, collate_fn=as_point):
        assert isinstance(batch["point"], Point) and batch["point"].x.is_pinned() and batch["point"].label == "a"


@DEPRECATED
def test_data_loader_pins_for_the_current_device() -> None:
    torch.cuda.set_device(1)
    (batch,) = next(iter(DataLoader(DATA, batch_size=4, pin_memory=True, num_workers=1)))
    assert batch.is_pinned() and batch.to("cuda").device.index == 1


@DEPRECATED
@pytest.mark.parametrize("device", [(), (None,), ("cuda",), ("cuda:1",)])
def test_pin_memory_of_torch_utils_data(device: tuple[Any, ...]) -> None:
    from torch.utils.data._utils.pin_memory import pin_memory

    nested = pin_memory({"a": [torch.ones(2), (torch.ones(1), "text")]}, *device)
    assert nested["a"][0].is_pinned() and nested["a"][1][0].is_pinned() and nested["a"][1][1] == "text"


@DEPRECATED
@pytest.mark.parametrize("device", [(), ("cuda",), (torch.device("cuda"),)])
def test_pin_memory(device: tuple[Any, ...]) -> None:
    x = torch.ones(3)
    assert not x.is_pinned(*device)
    pinned = x.pin_memory(*device)
    assert pinned.is_pinned(*device) and pinned.equal(x) and pinned.pin_memory() is pinned
    storage = x.untyped_storage().pin_memory(*device)
    assert storage.is_pinned(*device)


def test_factories_pin() -> None:
    assert torch.empty(3, pin_memory=True).is_pinned()
    assert torch.zeros(3, pin_memory=True).is_pinned() and torch.tensor([1], pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match="pin"):
        torch.ones(2, device="cuda").pin_memory()


def test_copies_that_do_not_wait() -> None:
    host, device = torch.arange(4.0).pin_memory(), torch.empty(4, device="cuda")
    device.copy_(host, non_blocking=True)
    back = torch.empty(4, pin_memory=True).copy_(device, non_blocking=True)
    torch.cuda.synchronize()
    assert back.tolist() == [0, 1, 2, 3]
    assert device.to("cpu", non_blocking=True).device.type == "cpu"


@pytest.mark.parametrize(
    "arguments",
    [
        ((True,), {}),
        ((), {"pin_memory": True}),
        ((True, "cuda"), {}),
        ((), {"pin_memory": True, "device_type": "cuda"}),
    ],
)
def test_save_on_cpu(arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    args, kwargs = arguments
    x = torch.arange(3.0, device="cuda", requires_grad=True)
    hooks: Any = save_on_cpu(*args, **kwargs)
    device, packed = hooks.pack_hook(x)
    assert device == x.device and packed.device.type == "cpu" and packed.is_pinned()
    with hooks:
        y = (x * x).sum()
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [0, 2, 4] and x.grad.is_cuda


def test_save_on_cpu_without_pinning() -> None:
    hooks: Any = save_on_cpu()
    assert not hooks.pack_hook(torch.ones(2, device="cuda"))[1].is_pinned()
    assert isinstance(hooks, torch.autograd.graph.saved_tensors_hooks)
