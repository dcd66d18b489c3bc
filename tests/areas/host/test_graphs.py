"""CUDA graphs on the host: a capture changes nothing, and a replay computes from what is in the tensors then."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.tiers import rarely

pytestmark = pytest.mark.once


def test_a_replay_computes_anew(host: Interpreter) -> None:
    code = """
        import torch
        x, total = torch.ones(4, device="cuda"), torch.zeros(4, device="cuda")
        graph = torch.cuda.CUDAGraph()
        state = torch.cuda.get_rng_state()
        with torch.cuda.graph(graph):
            assert torch.cuda.is_current_stream_capturing()
            y = x * 2
            z = y.view(2, 2).sum(1)
            total += y
            noise = torch.rand(3, device="cuda")
        assert not torch.cuda.is_current_stream_capturing()
        assert total.tolist() == [0] * 4 and torch.equal(torch.cuda.get_rng_state(), state)
        x.fill_(3)
        graph.replay()
        assert y.tolist() == [6] * 4 and z.tolist() == [12, 12] and total.tolist() == [6] * 4
        first = noise.tolist()
        graph.replay()
        assert total.tolist() == [12] * 4 and noise.tolist() != first
        graph.reset()
        try:
            graph.replay()
        except RuntimeError as error:
            assert "without a preceding successful capture" in str(error)
        else:
            raise SystemExit("replayed what was forgotten")
    """
    host.run(code, forked=True)


TRAINING = """
    import copy, torch
    from torch import nn
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)).cuda()
    x, y = torch.randn(8, 4, device="cuda"), torch.randn(8, 1, device="cuda")

    def optimizer_of(model):
        return torch.optim.Adam(model.parameters(), lr=0.05, capturable=True)

    def step(model, optimizer, x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    optimizer = optimizer_of(net)
    for _ in range(3):
        step(net, optimizer, x, y)
    eager = copy.deepcopy(net)
    eager_optimizer = optimizer_of(eager)
    eager_optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = step(net, optimizer, x, y)
    for _ in range(5):
        new_x, new_y = torch.randn(8, 4, device="cuda"), torch.randn(8, 1, device="cuda")
        x.copy_(new_x), y.copy_(new_y)
        graph.replay()
        expected = step(eager, eager_optimizer, new_x, new_y)
        torch.testing.assert_close(loss, expected, rtol=1e-3, atol=1e-4)
    for mine, theirs in zip(net.state_dict().values(), eager.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-2, atol=1e-3)
"""


def test_a_whole_training_step_is_captured(host: Interpreter) -> None:
    host.run(TRAINING, forked=True)


def test_graphed_callables(host: Interpreter) -> None:
    code = """
        import torch
        net = torch.nn.Linear(4, 4).cuda()
        sample = torch.randn(2, 4, device="cuda", requires_grad=True)
        graphed = torch.cuda.make_graphed_callables(torch.nn.Linear(4, 4).cuda(), (sample,))
        x = torch.randn(2, 4, device="cuda", requires_grad=True)
        out = graphed(x)
        torch.testing.assert_close(out, torch.nn.functional.linear(x, graphed.weight, graphed.bias))
        out.sum().backward()
        torch.testing.assert_close(x.grad, graphed.weight.sum(0).expand(2, 4))
        torch.testing.assert_close(graphed.weight.grad, x.detach().sum(0).expand(4, 4))
    """
    host.run(code, forked=True)


@pytest.mark.parametrize(
    "use", rarely(["x.sum().item()", "x.nonzero()", "torch.cuda.CUDAGraph().capture_begin()"], "x.nonzero()")
)
def test_what_cannot_be_captured_is_refused_as_on_cuda(host: Interpreter, use: str) -> None:
    code = f"""
        import torch
        x = torch.ones(3, device="cuda")
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                {use}
        except RuntimeError as error:
            assert "operation not permitted when stream is capturing" in str(error)
        else:
            raise SystemExit("captured")
        assert not torch.cuda.is_current_stream_capturing() and x.sum().item() == 3
    """
    host.run(code, forked=True)


def test_a_dump_names_the_operators(host: Interpreter, tmp_path: Path) -> None:
    code = """
        import torch
        graph, x = torch.cuda.CUDAGraph(), torch.ones(3, device="cuda")
        graph.enable_debug_mode()
        with torch.cuda.graph(graph):
            x.exp_()
        graph.debug_dump("graph.dot")
    """
    host.run(code, forked=True)
    assert "aten.exp_.default" in (tmp_path / "graph.dot").read_text()
