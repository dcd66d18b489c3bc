"""Modules, storages and packed sequences move as on CUDA."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from torch import nn


@pytest.mark.parametrize(
    ("move", "index"),
    [
        (lambda m: m.cuda(), 0),
        (lambda m: m.cuda(1), 1),
        (lambda m: m.cuda("cuda:1"), 1),
        (lambda m: m.to("cuda"), 0),
        (lambda m: m.to("cuda:1", torch.float64), 1),
        (lambda m: m.to(device="cuda", dtype=torch.float16), 0),
        (lambda m: m.to(1), 1),
        (lambda m: m.to(torch.zeros(1, device="cuda:1")), 1),
        (lambda m: m.to_empty(device="cuda"), 0),
        (lambda m: m._apply(lambda t: t.cuda()), 0),
    ],
)
def test_module_to_cuda_and_to_empty(move: Any, index: int) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    moved = move(model)
    assert moved is model
    assert {t.device for t in [*model.parameters(), *model.buffers()]} == {torch.device("cuda", index)}


def test_parameters_and_tied_weights_stay_the_same_objects() -> None:
    model = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    model[1].weight = model[0].weight
    weight = model[0].weight
    model.cuda()
    assert model[0].weight is weight
    assert model[1].weight is weight


def test_an_optimizer_made_before_the_move_trains_the_moved_model() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.cuda()
    before = model.weight.detach().clone()
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    assert not torch.equal(model.weight.detach(), before)


def test_class_attributes_and_gradient_of_a_parameter_move_with_it() -> None:
    class Own(nn.Parameter):
        pass

    model = nn.Linear(2, 2, bias=False)
    model.weight = Own(torch.ones(2, 2))
    model.weight.tag = "mine"
    model(torch.ones(1, 2)).sum().backward()
    model.cuda()
    assert type(model.weight) is Own
    assert model.weight.tag == "mine"
    assert model.weight.grad is not None and model.weight.grad.is_cuda


def test_a_graph_made_before_the_move_still_reaches_the_parameter() -> None:
    """As where a model is cast between forward and backward: the gradient is of the kind that the graph was made for."""
    model = nn.Linear(2, 2)
    held = model(torch.ones(1, 2)).sum()
    model.cuda()
    held.backward()
    assert model.weight.is_cuda
    assert model.weight.grad is not None and model.weight.grad.tolist() == [[1, 1], [1, 1]]


def test_parameters_stay_where_the_tensor_itself_is_held() -> None:
    """A graph, a weak reference: on CUDA neither is in the way."""
    model = nn.Linear(2, 2)
    weight, view, reference = model.weight, model.weight.view(4), weakref.ref(model.weight)
    held = (model.weight * 2).sum()
    model.cuda()
    assert model.weight is weight is reference() and view.device.type == "cpu"
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    assert weight.grad is not None and weight.grad.is_cuda
    del held


def test_a_parameter_class_with_its_own_cuda_is_asked() -> None:
    asked = []

    class Quantised(nn.Parameter):
        def cuda(self, *args: Any, **kwargs: Any) -> Any:
            asked.append(args)
            return super().cuda(*args, **kwargs)

    model = nn.Linear(2, 2)
    model.weight = Quantised(torch.zeros(2, 2))
    model.cuda()
    assert asked


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LazyLinear(3).to("cuda:1"),
        lambda: nn.LazyLinear(3).cuda(1),
        lambda: nn.LazyLinear(3, device="cuda:1"),
        lambda: nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d()).to(device="cuda:1"),
    ],
)
def test_lazy_modules(make: Any) -> None:
    model = make()
    assert model(torch.zeros(2, 5, device="cuda:1")).device == torch.device("cuda:1")
    assert {parameter.device for parameter in model.parameters()} == {torch.device("cuda:1")}


def test_is_cuda_and_cuda_of_untyped_storages() -> None:
    storage = torch.zeros(3).untyped_storage()
    assert not storage.is_cuda
    assert storage.cuda().is_cuda
    assert storage.cuda(1).device == torch.device("cuda:1")
    assert torch.zeros(3, device="cuda").untyped_storage().is_cuda


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_is_cuda_and_cuda_of_typed_storages() -> None:
    typed = torch.zeros(3, device="cuda").storage()
    assert typed.is_cuda
    assert not torch.zeros(3).storage().is_cuda
    assert torch.zeros(3).storage().cuda().is_cuda


def test_packed_sequences() -> None:
    packed = nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(2, 2)])
    for moved in (packed.cuda(), packed.to("cuda"), packed.cuda(device="cuda:0")):
        assert moved.is_cuda
        assert moved.data.is_cuda
    assert not packed.is_cuda


def test_training_step_of_a_recurrent_net() -> None:
    model = nn.LSTM(2, 4, batch_first=True).cuda()
    output, _ = model(torch.ones(3, 5, 2, device="cuda"))
    output.sum().backward()
    assert all(parameter.grad is not None and parameter.grad.is_cuda for parameter in model.parameters())
