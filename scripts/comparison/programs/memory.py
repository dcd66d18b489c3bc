"""Reads the figures of memory that training loops print."""

import torch

torch.cuda.reset_peak_memory_stats()
before = torch.cuda.memory_allocated()
x = torch.ones(4 * 1024 * 1024, device="cuda")
x.sum().item()
assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated() > 0, "the figures are no figures"
assert torch.cuda.memory_reserved() > 0
free, total = torch.cuda.mem_get_info()
assert 0 < free <= total
assert torch.cuda.memory_stats() and "allocated" in torch.cuda.memory_summary().lower()
torch.cuda.empty_cache()
print("sum", x.sum().item())
