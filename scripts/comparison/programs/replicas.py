"""Wraps a model in DataParallel."""

import torch

torch.manual_seed(0)
model = torch.nn.DataParallel(torch.nn.Linear(4, 4)).cuda()
out = model(torch.ones(6, 4).cuda())
out.sum().backward()
print("sum", out.sum().item())
