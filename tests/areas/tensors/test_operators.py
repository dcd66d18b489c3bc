"""Operators called by their own names, torch.ops.aten.zeros(..., device="cuda")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten
ONE = torch.device("cuda:1")


@pytest.mark.parametrize(
    "call",
    [
        lambda: aten.zeros([2], device="cuda:1"),
        lambda: aten.zeros.default([2], device="cuda:1"),
        lambda: aten.zeros.default([2], dtype=torch.float32, device=ONE),
        lambda: aten.full([2], 0.0, device="cuda:1"),
        lambda: aten.empty.memory_format([2], device="cuda:1").zero_(),
        lambda: aten._to_copy(torch.zeros(2), device="cuda:1"),
        lambda: aten.to.device(torch.zeros(2), "cuda:1", torch.float32),
        lambda: aten.to(torch.zeros(2), "cuda:1", torch.float32),
        lambda: aten.zeros_like(torch.ones(2), device="cuda:1"),
        lambda: aten.new_zeros(torch.ones(2), [2], device="cuda:1"),
    ],
)
def test_torch_ops_aten_with_a_device(call: Callable[[], torch.Tensor]) -> None:
    made = call()
    assert made.device == ONE and made.tolist() == [0, 0]


def test_other_devices_are_respected() -> None:
    assert aten.zeros([2]).device.type == aten.zeros.default([2], device="cpu").device.type == "cpu"
    assert aten.zeros([2], device="meta").device.type == "meta"
    with pytest.raises(RuntimeError, match="nonsense"):
        aten.zeros([2], device="nonsense")


def _sum(x: torch.Tensor) -> torch.Tensor:
    return x + aten.ones.default([2], device="cuda") + aten.zeros([2], device="cuda:0")


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled(backend: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(_sum, backend=backend, fullgraph=True)
    assert compiled(torch.ones(2, device="cuda")).tolist() == [2, 2]


def test_traced() -> None:
    x = torch.ones(2, device="cuda")
    assert make_fx(_sum)(x)(x).tolist() == [2, 2]


@pytest.fixture
def own() -> Iterator[Any]:
    """An operator with a string that is a device, and one that is not."""
    with torch.library._scoped_library("test_operators", "FRAGMENT") as library:
        library.define("labelled(Tensor x, str label, Device? where=None) -> (Tensor, str)")

        def labelled(x: torch.Tensor, label: str, where: torch.device | None = None) -> tuple[torch.Tensor, str]:
            return x.to(where), label

        library.impl("labelled", labelled, "CompositeExplicitAutograd")
        yield torch.ops.test_operators.labelled


def test_other_strings_are_left_alone(own: Any) -> None:
    for call in (own, own.default):
        for moved, label in (
            call(torch.zeros(1), "cuda", "cuda:1"),
            call(torch.zeros(1), label="cuda", where="cuda:1"),
        ):
            assert label == "cuda" and moved.device == ONE


def test_an_overload_that_comes_after_the_first_call(own: Any) -> None:
    assert own(torch.zeros(1), "cuda", "cuda:1")[0].device == ONE
    with torch.library._scoped_library("test_operators", "FRAGMENT") as library:
        library.define("labelled.at(Tensor x, int a, int b, Device there) -> str")
        library.impl("labelled.at", lambda x, a, b, there: there.type, "CompositeExplicitAutograd")
        assert own(torch.zeros(1), 1, 2, "cuda:1") == ONE.type
