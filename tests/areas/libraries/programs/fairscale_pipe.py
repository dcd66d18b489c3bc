"""fairscale: Pipe over two devices, which orders its micro-batches by streams where the devices are CUDA's."""

import json
import sys

import torch
from fairscale.nn import Pipe
from torch import nn

name = sys.argv[1] if len(sys.argv) > 1 else "cuda"
devices = ["cuda:0", "cuda:1"] if name == "cuda" else ["cpu", "cpu"]
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Linear(64, 1))
pipe = Pipe(model, balance=[2, 2], devices=devices, chunks=4)
optimizer = torch.optim.SGD(pipe.parameters(), lr=0.01)
x, y = torch.rand(16, 64).to(devices[0]), torch.rand(16, 1).to(devices[1])
losses = []
for _ in range(3):
    optimizer.zero_grad()
    out = pipe(x)
    loss = nn.functional.mse_loss(out, y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
from fairscale.nn.pipe.stream import current_stream, default_stream, new_stream, use_stream  # noqa: E402

device = torch.device(devices[0])
stream = new_stream(device)
with use_stream(stream):
    inside = type(current_stream(device)).__name__
found = {
    "devices": sorted({str(p.device) for p in pipe.parameters()} | {str(out.device)}),
    "numbers": losses,
    "same": {},
    "took": {"stream": inside == "Stream", "default": type(default_stream(device)).__name__ == "Stream"},
    "allocated": torch.cuda.max_memory_allocated() if name == "cuda" else 0,
}
# Before the interpreter ends: a Pipe waits for its threads when it is deleted, and by then they have been stopped.
del pipe, optimizer, out, loss
print(json.dumps(found))
