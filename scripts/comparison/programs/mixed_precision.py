"""Trains with autocast and a scaler of gradients, as the recipe for mixed precision says."""

import time

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
inputs = torch.randn(128, 64)
for step in range(25):
    if step == 5:
        began = time.process_time()
    x = inputs.to("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out = model(x)
        loss = nn.functional.mse_loss(out.float(), x.sum(1, keepdim=True) / 8)
    assert out.dtype == torch.bfloat16, out.dtype
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print("took", time.process_time() - began)
print("loss", loss.item())
