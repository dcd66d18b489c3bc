"""Tensor.cuda, .to, .type, new_* and the questions about where a tensor lives."""

from __future__ import annotations

import copy
import pickle
import typing
from typing import Any, ClassVar

import pytest
import torch

X = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("move", "index"),
    [
        (lambda x: x.cuda(), 0),
        (lambda x: x.cuda(0, True, torch.contiguous_format), 0),
        (lambda x: x.cuda(memory_format=torch.preserve_format), 0),
        (lambda x: x.cuda(1), 1),
        (lambda x: x.cuda("cuda:1"), 1),
        (lambda x: x.cuda(torch.device("cuda", 1)), 1),
        (lambda x: x.cuda(device=1, non_blocking=True), 1),
        (lambda x: x.cuda(0, True), 0),
    ],
)
def test_tensor_cuda(move: Any, index: int) -> None:
    _moved(move(X), index)


@pytest.mark.parametrize(
    ("move", "index"),
    [
        (lambda x: x.to("cuda"), 0),
        (lambda x: x.to("cuda:1"), 1),
        (lambda x: x.to(1), 1),
        (lambda x: x.to(device="cuda:1"), 1),
        (lambda x: x.to("cuda", torch.float32), 0),
        (lambda x: x.to("cuda", non_blocking=True, copy=True), 0),
        (lambda x: x.to(torch.zeros(1, device="cuda:1")), 1),
        (lambda x: x.to(torch.device("cuda:1"), dtype=torch.float32), 1),
    ],
)
def test_tensor_to(move: Any, index: int) -> None:
    _moved(move(X), index)


def _moved(moved: torch.Tensor, index: int) -> None:
    assert moved.device == torch.device("cuda", index)
    assert torch.equal(moved.cpu(), X)


def test_to_with_other_meanings() -> None:
    assert X.to(torch.float64).dtype is torch.float64
    assert X.to("cpu") is X
    y = X.cuda()
    assert y.to("cuda") is y
    assert y.cuda() is y
    assert y.to("cuda", copy=True) is not y
    assert y.to("cpu").device.type == "cpu"


def test_cuda_follows_the_current_device() -> None:
    with torch.cuda.device(1):
        assert X.cuda().device == torch.device("cuda:1")
        assert X.to("cuda").device == torch.device("cuda:1")


def test_cuda_keeps_the_memory_format() -> None:
    x = torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last)
    assert x.cuda().is_contiguous(memory_format=torch.channels_last)
    assert (
        torch.zeros(2, 3, 4, 4).cuda(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)
    )


@pytest.mark.parametrize("device", ["cpu", "meta", torch.device("cpu")])
def test_cuda_refuses_other_devices(device: Any) -> None:
    with pytest.raises(RuntimeError, match="must be cuda device"):
        X.cuda(device)


def test_cuda_is_differentiable() -> None:
    x = X.clone().requires_grad_()
    (x.cuda() * 2).sum().backward()
    assert x.grad is not None and x.grad.device.type == "cpu"
    assert torch.equal(x.grad, torch.full_like(X, 2))


def test_questions_about_where_a_tensor_is_are_answered() -> None:
    y = X.cuda()
    assert y.is_cuda and not X.is_cuda
    assert not y.is_cpu
    assert y.get_device() == 0
    assert y.device.index == 0
    assert y.new_zeros(2).is_cuda


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("new_zeros", ((2,),)),
        ("new_ones", ((2,),)),
        ("new_empty", ((2,),)),
        ("new_full", ((2,), 3.0)),
        ("new_tensor", ([1.0, 2.0],)),
        ("new_empty_strided", ((2,), (1,))),
    ],
)
def test_new(name: str, arguments: tuple[Any, ...]) -> None:
    made = getattr(X, name)(*arguments, device="cuda:1")
    assert made.device == torch.device("cuda:1") and made.shape == (2,) and made.dtype is X.dtype
    assert getattr(X.cuda(), name)(*arguments).is_cuda
    assert getattr(X.cuda(), name)(*arguments, device="cpu").device.type == "cpu"


def test_type_to_a_legacy_type() -> None:
    y = X.type("torch.cuda.FloatTensor")
    assert y.is_cuda
    assert X.type("torch.cuda.HalfTensor").dtype is torch.float16
    assert X.type(torch.cuda.DoubleTensor).dtype is torch.float64
    assert y.type(torch.float64).is_cuda
    assert y.type("torch.FloatTensor").device.type == "cpu"


def test_type_without_argument_is_cudas_name() -> None:
    assert X.cuda().type() == "torch.cuda.FloatTensor"
    assert X.cuda(1).long().type() == "torch.cuda.LongTensor"
    assert X.type() == "torch.FloatTensor"
    assert X.type(X.cuda().type()).is_cuda


def test_pinned_memory() -> None:
    assert X.pin_memory().is_pinned()
    assert torch.equal(X.pin_memory().cuda(non_blocking=True).cpu(), X)
    assert torch.zeros(3, pin_memory=True).is_pinned()


class Seeing(torch.Tensor):
    """Lists the functions that its tensors are handed to."""

    seen: ClassVar[list[Any]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.fixture
def seen() -> list[Any]:
    Seeing.seen.clear()
    return Seeing.seen


def test_subclasses_see_cuda_and_to(seen: list[Any]) -> None:
    x = X.as_subclass(Seeing)
    assert isinstance(x.cuda(), Seeing)
    assert isinstance(x.to("cuda"), Seeing)
    assert x.cuda().is_cuda
    assert torch.Tensor.cuda in seen
    assert torch.Tensor.to in seen
    # Libraries choose by these, as PyPose does.
    assert [seen[0].__name__, seen[1].__name__] == ["cuda", "to"]


def test_subclasses_see_pinning(seen: list[Any]) -> None:
    x = X.as_subclass(Seeing)
    assert not x.is_pinned() and x.pin_memory().is_pinned()
    assert {"is_pinned", "pin_memory"} <= {function.__name__ for function in seen}


def test_data_between_devices_of_one_kind() -> None:
    x = X.cuda()
    x.data = X.cuda(1)
    assert x.device == torch.device("cuda:1")


def test_copies_and_pickles() -> None:
    y = X.cuda(1)
    for again in (copy.deepcopy(y), pickle.loads(pickle.dumps(y))):
        assert again.device == y.device
        assert torch.equal(again.cpu(), X)


def test_mixing_devices_is_refused_as_on_cuda() -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        X.cuda() + X
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        X.cuda(0) + X.cuda(1)


def test_methods_pickle_by_reference() -> None:
    assert pickle.loads(pickle.dumps(torch.Tensor.to)) is torch.Tensor.to
    assert pickle.loads(pickle.dumps(torch.Tensor.cuda)) is torch.Tensor.cuda


@pytest.mark.parametrize(
    "function", [torch.Tensor.cuda, torch.zeros, torch.autocast.__init__, torch.amp.GradScaler.__init__]
)
def test_type_hints_of_redirected_functions_can_be_evaluated(function: Any) -> None:
    typing.get_type_hints(function)
