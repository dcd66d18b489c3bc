"""Keeps the best state of a model on the CPU while training goes on; a copy that is no copy loses it without a word."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1).cuda()
best = {name: value.cpu() for name, value in model.state_dict().items()}
kept = best["weight"].sum().item()
with torch.no_grad():
    model.weight.fill_(100.0)
assert best["weight"].sum().item() == kept, "the best state follows the training"
print("sum", kept)
