"""Asks tensors and modules where they are, as code does that has two ways."""

import torch

x = torch.zeros(2).cuda()
assert x.is_cuda and x.device.type == "cuda" and str(x.device) == "cuda:0", x.device
assert x.device == torch.device("cuda:0") and x.get_device() == 0
assert not x.cpu().is_cuda and x.cpu().device == torch.device("cpu")
assert x.cpu().data_ptr() != x.data_ptr(), "a copy to the CPU is no copy"
assert next(torch.nn.Linear(2, 2).to("cuda").parameters()).is_cuda
with torch.device("cuda"):
    assert torch.zeros(2).is_cuda
assert not torch.zeros(2).is_cuda and not torch.zeros(2, device="cpu").is_cuda
print("same", 1)
