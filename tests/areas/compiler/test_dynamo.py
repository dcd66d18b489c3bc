"""Compiled code gives the answer of eager code through what the first areas redirect."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

import torchada

pytestmark = pytest.mark.musa


def _factory(x: torch.Tensor) -> torch.Tensor:
    return x + torch.ones(3, device="cuda")


def _device(x: torch.Tensor) -> torch.Tensor:
    return x + torch.zeros(3, device=torch.device("cuda", 0))


def _to(x: torch.Tensor) -> torch.Tensor:
    return x.to("cpu").to("cuda:0") * 2


def _cuda(x: torch.Tensor) -> torch.Tensor:
    return x.cpu().cuda() * 2


def _is_cuda(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.is_cuda else x * 3


def _autocast(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return (x.view(1, 3) @ x.view(3, 1)).float()


def _new(x: torch.Tensor) -> torch.Tensor:
    return x + x.new_ones(3, device="cuda")


def test_redirection_that_comes_after_the_compiler() -> None:
    torch._dynamo.reset()
    x = torch.arange(3.0, device="cuda")
    torch.compile(_factory, backend="eager", fullgraph=True)(x)
    with torchada.disabled():
        torch.compile(lambda y: y + torch.ones(3), backend="eager", fullgraph=True)(torch.ones(3))
    torch._dynamo.reset()
    assert torch.compile(_factory, backend="eager", fullgraph=True)(x).tolist() == [1, 2, 3]


def test_is_cuda_inside_compile() -> None:
    """Asked of what the graph knows, for dynamo has a table of its own: compiled code takes the branch of eager code."""
    torch._dynamo.reset()
    compiled = torch.compile(_is_cuda, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1, device="cuda")).tolist() == [2]
    assert compiled(torch.ones(1)).tolist() == [3]


@pytest.mark.parametrize("function", [_factory, _device, _to, _cuda, _is_cuda, _autocast, _new])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_same_answer(function: Callable[[torch.Tensor], torch.Tensor], backend: str) -> None:
    torch._dynamo.reset()
    x = torch.arange(3.0, device="cuda")
    eager: Any = function(x)
    compiled = torch.compile(function, backend=backend, fullgraph=True)(x)
    assert compiled.device == eager.device
    assert torch.equal(compiled.cpu(), eager.cpu())


@pytest.mark.parametrize("module", ["torchada.redirect.calls", "torchada.areas.compiler.dynamo"])
def test_check_file_inlines_functions_of_torchada_and_compiles_none_by_itself(module: str) -> None:
    from torch._dynamo import trace_rules

    file = importlib.import_module(module).__file__
    assert trace_rules.check_file(file, is_inlined_call=False).skipped
    assert not trace_rules.check_file(file, is_inlined_call=True).skipped
