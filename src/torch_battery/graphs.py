"""CUDA graphs: a replay has to give what the same code gives when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from torch_battery.check import TOLERANCES, Tolerance, expect
from torch_battery.compare import same
from torch_battery.inputs import Inputs
from torch_battery.table import Program

GROUP = "graphs"
_TOLERANCE = TOLERANCES["float32"].times(20)
_TRAINED = Tolerance(1e-4, 1e-5)


def _numbers(*shape: int) -> torch.Tensor:
    return Inputs(torch.float32, "graphs")(*shape).cuda()


def _warm(run: Callable[[], Any]) -> None:
    """Run `run` on a side stream, as is needed before a capture."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
    torch.cuda.current_stream().wait_stream(stream)


def _replayed() -> float:
    x = _numbers(8, 8)
    _warm(lambda: x @ x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x @ x).relu().sum(-1)
    worst = 0.0
    for factor in (1.0, -2.0, 0.5):
        x.copy_(_numbers(8, 8) * factor)
        graph.replay()
        worst = max(worst, same(y, (x @ x).relu().sum(-1), _TOLERANCE, "a replay"))
    return worst


def _nothing_runs() -> None:
    x = torch.zeros(4, device="cuda")
    _warm(lambda: x + 1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        expect(torch.cuda.is_current_stream_capturing(), "is_current_stream_capturing() is False during a capture")
        x.add_(1)
    expect(x.tolist() == [0.0] * 4, "what is captured runs at once")
    graph.replay()
    graph.replay()
    expect(x.tolist() == [2.0] * 4, f"two replays of x.add_(1) make {x.tolist()} of zeros")


def _random() -> None:
    torch.cuda.manual_seed(4)
    _warm(lambda: torch.rand(8, device="cuda"))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.rand(8, device="cuda")
    graph.replay()
    first = y.clone()
    graph.replay()
    expect(not torch.equal(first, y), "each replay draws the same random numbers")


def _pool() -> float:
    x = _numbers(8, 8)
    _warm(lambda: x @ x)
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        y = x @ x
    with torch.cuda.graph(second, pool=first.pool()):
        z = y + 1
    first.replay()
    second.replay()
    return same(z, x @ x + 1, _TOLERANCE, "the second of two graphs in one pool")


def _refused() -> None:
    """A synchronisation cannot be captured; the device has to be usable after the error."""
    x = torch.ones(4, device="cuda")
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            x.sum().item()
    except RuntimeError:
        torch.cuda.synchronize()
        expect(x.sum().item() == 4, "nothing can be computed after a capture that failed")
        return
    expect(False, "item() was accepted during a capture")


def _weights() -> list[torch.Tensor]:
    make = Inputs(torch.float32, "step")
    return [(make(16, 8) * 0.4).cuda().requires_grad_(), (make(4, 16) * 0.4).cuda().requires_grad_()]


def _loss(weights: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    return F.linear(F.linear(x, weights[0]).tanh(), weights[1]).pow(2).mean()


def _steps(weights: list[torch.Tensor], optimizer: Any, x: torch.Tensor, count: int) -> None:
    for _ in range(count):
        optimizer.zero_grad(set_to_none=True)
        _loss(weights, x).backward()
        optimizer.step()


def _training_step() -> float:
    """A whole step with a capturable optimizer: the warm-up's 3 steps and 5 replays are 8 steps."""
    x, captured, eager = _numbers(6, 8), _weights(), _weights()
    optimizers = [torch.optim.Adam(weights, lr=0.02, capturable=True) for weights in (captured, eager)]
    _warm(lambda: _steps(captured, optimizers[0], x, 3))
    graph = torch.cuda.CUDAGraph()
    optimizers[0].zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        _loss(captured, x).backward()
        optimizers[0].step()
    for _ in range(5):
        graph.replay()
    _steps(eager, optimizers[1], x, 8)
    return same(captured, eager, _TRAINED, "the weights after replayed steps")


def _callable() -> float:
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).cuda()
    x = _numbers(6, 8)
    expected = model(x).detach().clone()
    graphed: Any = torch.cuda.make_graphed_callables(model, (x.clone().requires_grad_(),))
    actual = graphed(x.clone().requires_grad_())
    actual.sum().backward()
    expect(all(weight.grad is not None for weight in model.parameters()), "a graphed callable gives no gradients")
    return same(actual, expected, _TOLERANCE, "a graphed callable")


TABLE = [
    Program("replay", _replayed, "quick", _TOLERANCE),
    Program("capture", _nothing_runs),
    Program("random", _random),
    Program("pool", _pool, tolerance=_TOLERANCE),
    Program("refused", _refused),
    Program("training_step", _training_step, tolerance=_TRAINED),
    Program("make_graphed_callables", _callable, tolerance=_TOLERANCE),
]
