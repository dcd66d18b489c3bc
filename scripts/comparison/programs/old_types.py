"""Uses the types of old programs."""

import torch

x = torch.cuda.FloatTensor([1.0, 2.0])
assert x.type() == "torch.cuda.FloatTensor"
assert isinstance(x, torch.cuda.FloatTensor) and x.is_cuda
assert torch.zeros(2).type("torch.cuda.HalfTensor").dtype == torch.float16
assert torch.zeros(2).type(torch.cuda.LongTensor).dtype == torch.int64
print("sum", x.sum().item())
