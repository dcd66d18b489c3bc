"""torch.nn.DataParallel and its parts on two devices."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter
from torch.nn.parallel._functions import Broadcast, Gather, ReduceAddCoalesced, Scatter
from torch.nn.parallel.scatter_gather import scatter_kwargs

Pair = namedtuple("Pair", "left right")


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).cuda()


def losses(net: nn.Module, batch: int) -> list[float]:
    torch.manual_seed(1)
    x, y = torch.randn(batch, 3), torch.randn(batch, 2).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    seen = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x.cuda()), y)
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


@pytest.mark.parametrize("device_ids", [None, [0, 1], ["cuda:0", "cuda:1"], [torch.device("cuda:0"), 1], [0]])
@pytest.mark.parametrize("batch", [1, 5, 8])
def test_training_gives_the_losses_of_one_device(device_ids: Any, batch: int) -> None:
    parallel = DataParallel(model(), device_ids=device_ids)
    assert losses(parallel, batch) == pytest.approx(losses(model(), batch), rel=1e-5)
    assert {p.grad.device for p in parallel.parameters() if p.grad is not None} == {torch.device("cuda:0")}


def test_replicas_run_on_their_devices_and_the_output_goes_where_it_is_asked() -> None:
    class Spy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))
            self.seen: list[Any] = []

        def forward(self, x: torch.Tensor, *, scale: Any, note: str) -> Any:
            self.seen.append((x.device.index, self.weight.device.index, torch.cuda.current_device(), len(x), note))
            return {"y": x * self.weight * scale["by"], "pair": Pair(x[:, 0], [x.sum(1)])}

    spy = Spy().cuda()
    out = DataParallel(spy, output_device=1)(torch.ones(5, 2), scale={"by": torch.full((5, 1), 3.0)}, note="kept")
    assert sorted(spy.seen) == [(0, 0, 0, 3, "kept"), (1, 1, 1, 2, "kept")]
    assert out["y"].device == torch.device("cuda:1") and out["y"].tolist() == [[3, 3]] * 5
    assert isinstance(out["pair"], Pair) and out["pair"].right[0].tolist() == [2] * 5


def test_buffers_are_updated_on_the_first_device() -> None:
    """As documented: each replica has buffers of its own, and those of the first are the module's."""
    net = nn.BatchNorm1d(2, momentum=1.0).cuda()
    x = torch.cat([torch.zeros(4, 2), torch.full((4, 2), 8.0)])
    DataParallel(net)(x)
    assert net.running_mean.tolist() == [0, 0] and net.num_batches_tracked.item() == 1


def test_no_gradient_and_autocast_reach_the_replicas() -> None:
    seen = []

    class Spy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append((torch.is_grad_enabled(), (x @ x.t()).dtype))
            return x

    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        DataParallel(Spy())(torch.ones(4, 2))
    assert [grad for grad, _ in seen] == [False, False]
    assert {dtype for _, dtype in seen} <= {torch.float16, torch.bfloat16}


def test_errors_of_a_replica_name_it() -> None:
    class Bad(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.device.index == 1:
                raise ValueError("too much")
            return x

    with pytest.raises(ValueError, match="in replica 1 on device 1"):
        DataParallel(Bad())(torch.ones(2, 2))


def test_a_module_elsewhere_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"must have its parameters and buffers on device \w+:0"):
        DataParallel(nn.Linear(2, 2).to("cuda:1"), [0, 1])(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="found one of them on device: cpu"):
        DataParallel(nn.Linear(2, 2))(torch.ones(2, 2))


def test_state_of_the_wrapped_module() -> None:
    net = DataParallel(model())
    assert next(iter(net.state_dict())) == "module.0.weight"
    net.load_state_dict({name: value.cpu() for name, value in net.state_dict().items()})
    assert next(net.parameters()).is_cuda


def test_functional_data_parallel() -> None:
    net = model()
    x = torch.randn(5, 3)
    for output_device, device in ((None, "cuda:0"), (1, "cuda:1"), ("cuda:1", "cuda:1")):
        out = data_parallel(net, x, [0, 1], output_device=output_device)
        assert out.device == torch.device(device)
        assert torch.allclose(out.cpu(), net(x.cuda()).cpu())
    assert data_parallel(nn.Identity(), torch.ones(3, 1)).shape == (3, 1)


def test_scatter_of_nested_inputs() -> None:
    x = torch.arange(5)
    first, second = scatter([{"a": x, "b": (x.cuda(), "text")}, Pair(x, 7)], ["cuda:0", "cuda:1"])
    assert first[0]["a"].tolist() == [0, 1, 2] and second[0]["b"][0].tolist() == [3, 4]
    assert isinstance(second[1], Pair) and second[1].left.device == torch.device("cuda:1") and second[1].right == 7
    inputs, kwargs = scatter_kwargs((x,), {"k": x}, [0, 1])
    assert len(inputs) == len(kwargs) == 2 and kwargs[1]["k"].tolist() == [3, 4]
    (only,) = scatter(torch.ones(1, 2), [0, 1])
    assert only.device == torch.device("cuda:0")


def test_gather_of_nested_outputs() -> None:
    parts = [{"a": torch.full((1,), float(i), device=f"cuda:{i}"), "n": None} for i in (0, 1)]
    assert gather(parts, 1)["a"].tolist() == [0, 1] and gather(parts, 1)["a"].device.index == 1
    assert gather(parts, "cpu")["a"].device.type == "cpu"
    with pytest.warns(UserWarning, match="all input tensors were scalars"):
        assert gather([torch.tensor(float(i), device=f"cuda:{i}") for i in (0, 1)], 0).tolist() == [0, 1]


def test_replicate_and_apply() -> None:
    net = model()
    replicas = replicate(net, [0, "cuda:1"])
    assert [next(iter(r[0]._former_parameters.values())).device.index for r in replicas] == [0, 1]
    x = torch.randn(2, 3)
    outputs = parallel_apply(replicas, [x.to("cuda:0"), (x.to("cuda:1"),)], devices=[torch.device("cuda:0"), 1])
    assert [out.device.index for out in outputs] == [0, 1]
    sum(out.sum().to("cuda:0") for out in outputs).backward()
    assert net[0].weight.grad is not None and net[0].weight.grad.device.index == 0


def test_gradients_go_back_the_way_the_values_came() -> None:
    x = torch.ones(4, requires_grad=True)
    a, b = Scatter.apply([0, 1], None, 0, x)
    with pytest.warns(FutureWarning, match="-1 to represent CPU"):  # torch's own code says it so
        Gather.apply(1, 0, a * 2, b * 3).sum().backward()
    assert x.grad is not None and x.grad.device.type == "cpu" and x.grad.tolist() == [2, 2, 3, 3]
    w = torch.ones(2, device="cuda:0", requires_grad=True)
    here, there = Broadcast.apply([0, 1], w)
    (here.sum() * 2 + there.to("cuda:0").sum() * 5).backward()
    assert w.grad is not None and w.grad.tolist() == [7, 7]
    (total,) = ReduceAddCoalesced.apply(1, 1, torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1"))
    assert total.device.index == 1 and total.tolist() == [2, 2]


def test_device_indices_are_those_of_the_backend() -> None:
    utils = torch._utils
    assert utils._get_all_device_indices() == [0, 1]
    assert utils._get_device_index("cuda:1") == 1 and utils._get_device_index("cuda", optional=True) == 0
    assert torch.device(utils._get_available_device_type()).type == torch.device("cuda").type
    assert [p.total_memory for p in utils._get_devices_properties([0, 1])] == [
        torch.cuda.get_device_properties(0).total_memory
    ] * 2
    with torch.cuda.device(1):
        assert utils._get_current_device_index() == 1


def test_sync_batch_norm_is_converted_and_moved() -> None:
    net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))).cuda()
    assert isinstance(net[1], nn.SyncBatchNorm) and net[1].running_mean.is_cuda
    assert net.eval()(torch.ones(2, 2, device="cuda")).is_cuda
