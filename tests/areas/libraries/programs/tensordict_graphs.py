"""tensordict: CudaGraphModule, which captures a function of tensors on CUDA devices only."""

import json
import sys

import torch
from tensordict import TensorDict
from tensordict.nn import CudaGraphModule, TensorDictModule
from torch import nn

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
torch.manual_seed(0)
net = nn.Linear(64, 64).to(device)
module = TensorDictModule(net, in_keys=["x"], out_keys=["y"])
calls = []


def body(x):
    calls.append(1)
    return net(x).relu()


captured = CudaGraphModule(body, warmup=2) if device == "cuda" else body
outputs = []
with torch.no_grad():
    for index in range(6):
        outputs.append(captured(torch.full((4, 64), float(index), device=device)).clone())
    data = TensorDict({"x": torch.ones(4, 64)}, batch_size=[4]).to(device)
    step = CudaGraphModule(module, warmup=2) if device == "cuda" else module
    for _ in range(4):
        outputs.append(step(data)["y"].clone())

print(
    json.dumps(
        {
            "devices": sorted({str(each.device) for each in outputs}),
            "numbers": [each.flatten()[:8].tolist() for each in outputs],
            "same": {},
            "took": {"replayed": len(calls) < 6, "is_cuda": data.is_cuda if hasattr(data, "is_cuda") else None},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
