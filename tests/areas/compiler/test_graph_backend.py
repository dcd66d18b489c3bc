"""torch.compile(backend="cudagraphs") in unchanged CUDA code: what is on one device is captured, anything else is not."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch

pytestmark = [
    pytest.mark.usefixtures("compiled_anew"),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),  # torch's own, in an import of Inductor's
    pytest.mark.filterwarnings("ignore:The MUSA Graph is empty"),  # what keeps a tree's pool alive
]


def graphs(device: int) -> list[type]:
    import torch._inductor.cudagraph_trees as trees

    manager = trees.get_manager(device, create_if_none_exists=False)
    return [] if manager is None else [type(node.graph) for node in manager.get_roots()]


@pytest.mark.full
def test_a_model_in_training_is_captured_and_replayed() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).cuda()
    copied = copy.deepcopy(model)
    fast = torch.compile(copied, backend="cudagraphs")
    for _ in range(4):
        x = torch.randn(4, 8, device="cuda")
        for each in (model, fast):
            torch.compiler.cudagraph_mark_step_begin()
            each.zero_grad()
            each(x).square().mean().backward()
            with torch.no_grad():
                for parameter in each.parameters():
                    parameter -= 0.1 * parameter.grad
    torch.testing.assert_close(dict(copied.named_parameters()), dict(model.named_parameters()))
    assert graphs(0) == [torch.cuda.CUDAGraph]


def test_the_second_device_has_graphs_of_its_own() -> None:
    function = torch.compile(lambda x: x.sin() + 1, backend="cudagraphs")
    x = torch.rand(4, device="cuda:1")
    with torch.cuda.device(1):
        for _ in range(3):
            torch.testing.assert_close(function(x), x.sin() + 1)
    assert graphs(1) == [torch.cuda.CUDAGraph] and graphs(0) == []


@pytest.mark.parametrize(
    ("function", "other"),
    [(lambda x, y: x + y.to(x.device), "cpu"), (lambda x, y: x + y.to(x.device), "cuda:1")],
    ids=["with the host", "with another device"],
)
def test_a_function_of_two_devices_is_not_captured(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], other: str
) -> None:
    x, y = torch.rand(4, device="cuda"), torch.rand(4, device=other)
    fast = torch.compile(function, backend="cudagraphs")
    for _ in range(3):
        torch.testing.assert_close(fast(x, y), function(x, y))
    assert graphs(0) == []


def test_graphs_draw_the_random_numbers_of_eager_code() -> None:
    def sample() -> torch.Tensor:
        return torch.rand(8, device="cuda")

    fast, drawn = torch.compile(sample, backend="cudagraphs"), []
    for draw in (sample, fast):
        torch.cuda.manual_seed(1)
        drawn.append([draw().tolist() for _ in range(4)])
    assert drawn[0] == drawn[1]
    assert graphs(0) == [torch.cuda.CUDAGraph]
