"""Reads batches with a loader that pins memory, and copies them without waiting."""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(256, 8), torch.arange(256))
if __name__ == "__main__":
    total = torch.zeros(8, device="cuda")
    for x, y in DataLoader(data, batch_size=32, shuffle=True, num_workers=1, pin_memory=True):
        total += (x.cuda(non_blocking=True) * y.cuda(non_blocking=True).unsqueeze(1)).sum(0)
    print("total", total.cpu().sum().item())
