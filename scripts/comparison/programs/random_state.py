"""Draws with generators of the device, saves and restores their states."""

import torch

generator = torch.Generator(device="cuda").manual_seed(7)
first = torch.randn(4, device="cuda", generator=generator)
again = torch.randn(4, device="cuda", generator=torch.Generator("cuda").manual_seed(7))
assert torch.equal(first, again)
torch.cuda.manual_seed_all(3)
state = torch.cuda.get_rng_state()
one = torch.rand(4, device="cuda")
torch.cuda.set_rng_state(state)
assert torch.equal(one, torch.rand(4, device="cuda"))
with torch.random.fork_rng(devices=[0]):
    torch.rand(4, device="cuda")
torch.cuda.manual_seed(3)
assert torch.equal(one, torch.rand(4, device="cuda")), "manual_seed seeds nothing"
assert len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count() > 0
print("same", 1)
