"""Compiles a function that asks where its tensor is."""

import torch


@torch.compile(backend="aot_eager", fullgraph=True)
def step(x):
    y = torch.ones(3, device="cuda") * 2
    return (x * y).sum() + (1 if x.is_cuda else 1000)


print("value", step(torch.arange(3.0).cuda()).item())
