"""Asks what the device is, as programs do that choose a kernel or print a banner."""

import torch

assert torch.cuda.is_available()
assert torch.cuda.device_count() > 0 and torch.cuda.current_device() == 0
properties = torch.cuda.get_device_properties(0)
assert properties.total_memory > 0 and properties.multi_processor_count > 0
assert properties.major >= 5 and len(torch.cuda.get_device_capability()) == 2
assert torch.cuda.get_device_name(0)
with torch.cuda.device(0):
    torch.cuda.synchronize()
torch.cuda.is_bf16_supported()
print("count", 1)
