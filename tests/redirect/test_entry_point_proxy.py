"""The proxy around Python functions of torch: inspection shows the original, and no compiler bypasses it."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest
import torch
import wrapt

from torchada.redirect.entry_point import EntryPoint

pytestmark = pytest.mark.musa


def _original(x: torch.Tensor, factor: int = 2) -> torch.Tensor:
    """Doubles."""
    return x * factor


def _double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


naive_entry = wrapt.FunctionWrapper(_double, lambda wrapped, instance, args, kwargs: wrapped(*args) * 10)
redirected_entry = EntryPoint(_original, lambda x, factor=2: _original(x, factor * 10))


def test_an_entry_point_calls_the_redirection() -> None:
    assert redirected_entry(torch.ones(1)).item() == 20


def test_inspection_sees_the_original() -> None:
    assert inspect.signature(redirected_entry) == inspect.signature(_original)
    assert inspect.getdoc(redirected_entry) == "Doubles."
    assert "return x * factor" in inspect.getsource(redirected_entry)
    assert redirected_entry.__name__ == "_original"
    assert isinstance(redirected_entry, type(_original))


def test_copies_are_the_proxy_itself() -> None:
    assert copy.copy(redirected_entry) is redirected_entry
    assert copy.deepcopy({"f": redirected_entry})["f"] is redirected_entry


def test_an_applied_entry_point_pickles_by_reference() -> None:
    assert isinstance(torch.random.fork_rng, EntryPoint)
    assert pickle.loads(pickle.dumps(torch.random.fork_rng)) is torch.random.fork_rng


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_code_goes_through_the_redirection(backend: str) -> None:
    """dynamo looks through `__wrapped__` and would give 2 where eager code gives 20, silently, fullgraph included."""
    torch._dynamo.reset()

    def use(x: torch.Tensor) -> Any:
        return redirected_entry(x)

    compiled = torch.compile(use, backend=backend, fullgraph=True)
    assert compiled(torch.ones(1)).item() == use(torch.ones(1)).item() == 20


def test_dynamo_bypasses_an_ordinary_wrapt_proxy() -> None:
    """If this fails, dynamo has changed, and the proxy's workaround should be reviewed."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: naive_entry(x), backend="eager", fullgraph=True)
    assert naive_entry(torch.ones(1)).item() == 20
    assert compiled(torch.ones(1)).item() == 2
