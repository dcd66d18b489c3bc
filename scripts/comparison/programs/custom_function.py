"""Trains through an autograd function of its own that casts as autocast does, and checkpoints activations."""

import torch
from torch.utils.checkpoint import checkpoint


class Double(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        return 2 * grad


x = torch.ones(4, 4, device="cuda", requires_grad=True)
with torch.autocast("cuda", dtype=torch.bfloat16):
    assert torch.is_autocast_enabled("cuda")
    y = checkpoint(lambda given: Double.apply(given @ given), x, use_reentrant=False)
assert y.dtype == torch.float32
y.sum().backward()
print("grad", x.grad.sum().item())
