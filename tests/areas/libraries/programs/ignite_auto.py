"""ignite: `auto_dataloader`, `auto_model` and `auto_optim`, which ask for the device themselves."""

import json
import sys

import ignite.distributed as idist
import torch
from ignite.engine import Engine
from torch import nn

device = "cpu" if "cpu" in sys.argv else "cuda"
torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.rand(32, 8), torch.rand(32, 1))
loader = idist.auto_dataloader(data, batch_size=8)
model = idist.auto_model(nn.Sequential(nn.Linear(8, 512), nn.ReLU(), nn.Linear(512, 1)))
optimizer = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=0.1))
losses, devices = [], set()


def step(engine, batch):
    x, y = (each.to(idist.device(), non_blocking=True) for each in batch)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    devices.add(str(x.device))
    losses.append(loss.item())


Engine(step).run(loader, max_epochs=2)
print(
    json.dumps(
        {
            "devices": sorted(devices),
            "numbers": losses,
            "same": {},
            "took": {"pinned": loader.pin_memory, "device": idist.device().type, "model": type(model).__name__},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
