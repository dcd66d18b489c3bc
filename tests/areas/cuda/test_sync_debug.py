"""torch.cuda.set_sync_debug_mode finds the operations that make the host wait."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy
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
    # As an H100 said.
    lambda x: torch.tensor([1.0, 2.0], device="cuda"),
    lambda x: torch.as_tensor(2.0, device="cuda"),
    lambda x: x.new_tensor([3.0]),
    lambda x: torch.allclose(x, x),
    lambda x: torch.isin(x.repeat(8), x.repeat(8)),
    lambda x: x.masked_fill(x > 2, x[0]),
    lambda x: x.masked_fill_(x > 2, x[0]),
    lambda x: x.index_fill(0, torch.zeros_like(x, dtype=torch.long), x[0]),
    lambda x: torch.linspace(x[0], 3, 4),
    lambda x: torch.logspace(1, x[0], 4),
    lambda x: torch.normal(x, x),
    lambda x: torch.normal(0.0, x),
    lambda x: torch.histc(x),
    lambda x: x.to_sparse(),
    lambda x: torch.segment_reduce(x, "sum", lengths=torch.full_like(x, 1, dtype=torch.long)),
    lambda x: torch.masked.sum(x, mask=x > 0),
    lambda x: torch.nn.functional.ctc_loss(
        x.view(2, 1, 2), torch.ones(1, 1, device="cuda", dtype=torch.long), (2,), (1,)
    ),
    *(
        lambda x, of=of: of(x.diag() + torch.ones(4, 4, device="cuda"))
        for of in (
            torch.linalg.inv,
            torch.linalg.cholesky,
            torch.linalg.lu_factor,
            torch.linalg.ldl_factor,
            torch.linalg.svdvals,
            torch.linalg.pinv,
            torch.linalg.cond,
            torch.linalg.eig,
            torch.linalg.eigvals,
            torch.linalg.matrix_exp,
            torch.svd_lowrank,
            partial(torch.linalg.matrix_norm, ord="nuc"),
        )
    ),
    lambda x: torch.linalg.solve(x.diag(), x),
    lambda x: torch.linalg.lstsq(x.diag(), x.view(4, 1)),
    lambda x: x.repeat_interleave(torch.ones_like(x, dtype=torch.long)),
    lambda x: torch.bincount(x.long()),
]
NOT_WAITING: list[Callable[[Any], Any]] = [
    lambda x: x + x,
    lambda x: x.to("cuda:1"),
    lambda x: x.to("cpu", non_blocking=True),
    lambda x: torch.cuda.synchronize(),
    lambda x: torch.zeros(4).sum().item(),
    lambda x: torch.isin(x, x[:2]),
    lambda x: x.masked_fill(x > 2, 1.0),
    lambda x: x.index_fill(0, torch.zeros_like(x, dtype=torch.long), 1.0),
    lambda x: torch.linspace(1, 3, 4, device="cuda"),
    lambda x: torch.normal(x, 1.0),
    lambda x: torch.histc(x, min=0, max=2),
    lambda x: torch.linalg.inv_ex(x.diag()),
    lambda x: torch.linalg.cholesky_ex(x.diag()),
    lambda x: torch.full((4,), 2.0, device="cuda") + 3,
    lambda x: x.repeat_interleave(2),
    lambda x: x.repeat_interleave(torch.ones_like(x, dtype=torch.long), output_size=4),
    lambda x: torch.linalg.qr(x.diag()),
    lambda x: torch.linalg.eigh(x.diag()),
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


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("loud", "invalid value of debug_mode, expected one of `default`, `warn`, `error`"),
        (3, "invalid value of debug_mode, expected one of 0,1,2"),
        (-1, "invalid value of debug_mode, expected one of 0,1,2"),
        *((mode, "invalid argument to set_sync_debug_mode") for mode in (None, 0.0, 1.0, True, torch.tensor(1))),
    ],
)
def test_unknown_modes_are_refused_as_by_cuda(mode: Any, text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.cuda.set_sync_debug_mode(mode)
    assert str(caught.value) == text and torch.cuda.get_sync_debug_mode() == 0


def test_the_mode_is_a_plain_number() -> None:
    torch.cuda.set_sync_debug_mode(numpy.int64(1))
    assert type(torch.cuda.get_sync_debug_mode()) is int and torch.cuda.get_sync_debug_mode() == 1
