"""torch.cuda.set_sync_debug_mode finds the operations that make the host wait."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

WAITING: list[Callable[[Any], Any]] = [
    lambda x: x.sum().item(),
    lambda x: x.cpu(),
    lambda x: x.tolist(),
    lambda x: x.nonzero(),
    lambda x: x[x > 0],
    lambda x: bool(x.sum() > 0),
    lambda x: x.copy_(torch.zeros(4)),
    lambda x: torch.zeros(4).to("cuda"),
]
NOT_WAITING: list[Callable[[Any], Any]] = [
    lambda x: x + x,
    lambda x: x.to("cuda:1"),
    lambda x: x.to("cpu", non_blocking=True),
    lambda x: torch.cuda.synchronize(),
    lambda x: torch.zeros(4).sum().item(),
]


@pytest.fixture(autouse=True)
def _off_again() -> Iterator[None]:
    yield
    torch.cuda.set_sync_debug_mode("default")
    assert torch.cuda.get_sync_debug_mode() == 0


@pytest.mark.parametrize("operation", WAITING)
def test_sync_debug_mode_raises(operation: Callable[[Any], Any]) -> None:
    x = torch.ones(4, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
        operation(x)
    torch.cuda.set_sync_debug_mode("default")
    operation(x)


@pytest.mark.parametrize("operation", NOT_WAITING)
def test_an_operation_that_does_not_wait_passes(operation: Callable[[Any], Any]) -> None:
    x = torch.ones(4, device="cuda")
    torch.cuda.set_sync_debug_mode(2)
    operation(x)


def test_sync_debug_mode_warns_at_the_programs_line() -> None:
    x = torch.ones(4, device="cuda")
    torch.cuda.set_sync_debug_mode("warn")
    assert torch.cuda.get_sync_debug_mode() == 1
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        x.sum().item()
    assert [warning.filename for warning in seen] == [__file__]


def test_switched_off_within_another_mode() -> None:
    """It cannot leave from below another mode; it lets everything pass, and goes at the next chance."""

    class Other(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    x = torch.ones(4, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    with Other():
        torch.cuda.set_sync_debug_mode("default")
        assert x.sum().item() == 4


@pytest.mark.parametrize("mode", ["loud", 3, None])
def test_unknown_modes_are_refused(mode: Any) -> None:
    with pytest.raises(RuntimeError, match="expected one of"):
        torch.cuda.set_sync_debug_mode(mode)
