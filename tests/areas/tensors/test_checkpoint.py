"""torch.utils.checkpoint: the recomputation sees the random state and the autocast state of the forward pass."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import (
    DefaultDeviceType,
    checkpoint,
    checkpoint_sequential,
    get_device_states,
    set_device_states,
)

from support.interpreter import Interpreter

dropout = nn.functional.dropout
REENTRANT = pytest.mark.parametrize("reentrant", [True, False])


@pytest.fixture(autouse=True)
def _flag_of_torch_musa(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch_musa copies this flag at its import, so that it stays False there; the simulator keeps it up to date."""
    monkeypatch.setattr(torch.musa, "_initialized", False)  # type: ignore[attr-defined]


@REENTRANT
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_the_same_dropout(reentrant: bool, device: str) -> None:
    x = torch.ones(1000, device=device, requires_grad=True)
    result = checkpoint(dropout, x, 0.5, use_reentrant=reentrant)
    torch.rand(7, device=device)
    result.sum().backward()
    assert x.grad is not None and x.grad.equal(result.detach())
    assert 300 < int((x.grad == 0).sum()) < 700


@REENTRANT
def test_the_generator_goes_on_where_it_was(reentrant: bool) -> None:
    x = torch.ones(10, device="cuda", requires_grad=True)
    torch.cuda.manual_seed(3)
    result = checkpoint(dropout, x, 0.5, use_reentrant=reentrant)
    state = torch.cuda.get_rng_state()
    result.sum().backward()
    assert torch.cuda.get_rng_state().equal(state)


@REENTRANT
def test_preserve_rng_state_false(reentrant: bool) -> None:
    x = torch.ones(1000, device="cuda", requires_grad=True)
    result = checkpoint(dropout, x, 0.5, use_reentrant=reentrant, preserve_rng_state=False)
    result.sum().backward()
    assert x.grad is not None and not x.grad.equal(result.detach())


@REENTRANT
def test_first_use_of_the_device(musa: Interpreter, reentrant: bool) -> None:
    musa.run(
        f"""
        import torch
        from torch.utils.checkpoint import checkpoint
        x = torch.ones(1000, device="cuda", requires_grad=True)
        torch.musa._initialized = False
        result = checkpoint(torch.nn.functional.dropout, x, 0.5, use_reentrant={reentrant})
        result.sum().backward()
        assert x.grad.equal(result.detach())
        """,
        forked=True,
    )


def test_the_forward_pass_on_the_cpu_does_not_start_the_device(musa: Interpreter) -> None:
    musa.run(
        """
        import torch
        from torch.utils.checkpoint import checkpoint
        x = torch.ones(10, requires_grad=True)
        result = checkpoint(torch.nn.functional.dropout, x, 0.5, use_reentrant=False)
        assert not torch.cuda.is_initialized()
        result.sum().backward()
        assert x.grad.equal(result.detach())
        """,
        forked=True,
    )


@REENTRANT
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.filterwarnings("ignore:.*torch.cuda.amp.autocast:FutureWarning")
def test_autocast(reentrant: bool, dtype: torch.dtype) -> None:
    seen = []

    def f(x: torch.Tensor) -> torch.Tensor:
        # Before what is recomputed: that is given up as soon as it has what backward needs.
        seen.append(
            (torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda"), (x.detach() @ x.detach()).dtype)
        )
        return (x @ x).float()

    for autocast in (torch.cuda.amp.autocast(dtype=dtype), torch.autocast("cuda", dtype)):
        x = torch.ones(3, 3, device="cuda", requires_grad=True)
        with autocast:
            result = checkpoint(f, x, use_reentrant=reentrant)
        result.sum().backward()
    assert seen == [(True, dtype, dtype)] * 4


def test_context_fn() -> None:
    entered = []

    @contextlib.contextmanager
    def note(name: str) -> Any:
        entered.append(name)
        yield

    x = torch.ones(3, device="cuda", requires_grad=True)
    result = checkpoint(torch.sin, x, use_reentrant=False, context_fn=lambda: (note("forward"), note("again")))
    result.sum().backward()
    assert entered == ["forward", "again"]


def test_device_states() -> None:
    a, b = torch.ones(1, device="cuda:0"), torch.ones(1, device="cuda:1")
    devices, states = get_device_states(a, b)
    assert devices == [0, 1] and states[1].equal(torch.cuda.get_rng_state(1))
    first = torch.rand(3, device="cuda:1")
    for device_type in (None, "cuda"):
        set_device_states(devices, states, device_type=device_type)
        assert torch.rand(3, device="cuda:1").equal(first)


def test_default_device_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts where no argument is a tensor on a device."""
    monkeypatch.setattr(DefaultDeviceType, "_default_device_type", DefaultDeviceType._default_device_type)
    DefaultDeviceType.set_device_type("cuda")
    assert DefaultDeviceType.get_device_type() == "cuda"
    weight = torch.ones(4, device="cuda", requires_grad=True)
    for reentrant in (True, False):
        x = torch.ones(4, requires_grad=True)
        result = checkpoint(lambda x: x.cuda() * weight, x, use_reentrant=reentrant)
        result.sum().backward()
        assert x.grad is not None and x.grad.tolist() == [1] * 4
    _, (state,) = get_device_states(weight)
    set_device_states([0], [state])


def test_a_model() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)) for _ in range(4))).cuda()
    x = torch.rand(4, 8, device="cuda", requires_grad=True)
    torch.cuda.manual_seed(1)
    model(x).sum().backward()
    wanted = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    torch.cuda.manual_seed(1)
    checkpoint_sequential(model, 2, x, use_reentrant=False).sum().backward()
    torch.testing.assert_close([parameter.grad for parameter in model.parameters()], wanted)
