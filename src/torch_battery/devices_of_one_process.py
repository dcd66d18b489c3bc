"""Several devices in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.cuda import comm

from torch_battery.check import expect
from torch_battery.compare import same
from torch_battery.inputs import Inputs


def _reduced() -> float:
    make = Inputs(torch.float32, "comm")
    parts = [make(9) for _ in range(2)]
    total = comm.reduce_add([part.to(f"cuda:{index}") for index, part in enumerate(parts)])
    return same(total, parts[0].double() + parts[1].double(), None, "comm.reduce_add")


def _spread() -> None:
    x = Inputs(torch.float32, "comm")(8, 3)
    copies = comm.broadcast(x.cuda(), [0, 1])
    expect([copy.device.index for copy in copies] == [0, 1], "comm.broadcast puts copies on the wrong devices")
    expect(all(torch.equal(copy.cpu(), x) for copy in copies), "comm.broadcast has lost data")
    parts = comm.scatter(x.cuda(), [0, 1])
    expect(torch.equal(comm.gather(parts, destination=0).cpu(), x), "comm.scatter and gather lose data")


def _data_parallel() -> float:
    torch.manual_seed(2)
    model = torch.nn.Linear(6, 3)
    x = Inputs(torch.float32, "parallel")(8, 6)
    expected: Any = model.double()(x.double())
    expected.sum().backward()
    own = torch.nn.Linear(6, 3)
    own.load_state_dict({name: weight.float() for name, weight in model.state_dict().items()})
    actual = torch.nn.DataParallel(own.cuda(), [0, 1])(x.cuda())
    actual.sum().backward()
    gradients = [model.weight.grad, own.weight.grad]
    return max(
        same(actual.cpu(), expected, None, "DataParallel") / 4,
        same(gradients[1], gradients[0], None, "its gradient") / 4,
    )


PROGRAMS: dict[str, Callable[[], float | None]] = {
    "reduce_add_in_process": _reduced,
    "broadcast_in_process": _spread,
    "data_parallel": _data_parallel,
}
