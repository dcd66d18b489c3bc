"""Saves and loads checkpoints of a model and its optimizer, with each form of map_location."""

import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 8).to("cuda")
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(2, 8, device="cuda")).sum().backward()
optimizer.step()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    for where in ("cuda", "cpu", torch.device("cuda", 0), {"cuda:0": "cpu"}, lambda storage, tag: storage, None):
        loaded = torch.load(path, map_location=where)
        again = nn.Linear(8, 8).to("cuda")
        again.load_state_dict(loaded["model"])
        other = torch.optim.Adam(again.parameters())
        other.load_state_dict(loaded["optimizer"])
        assert torch.equal(again.weight, model.weight)
print("sum", model.weight.sum().item())
