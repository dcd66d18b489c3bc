"""The calls that programs make most, written for CUDA and as native MUSA code.

`x` is a CPU tensor, `y` one on the device, `net` a small network on the device.
"""

from __future__ import annotations

from dataclasses import dataclass

SETUP = """
import torch
torch.set_num_threads(1)
torch.musa.set_device(0)
x = torch.ones(2)
y = x.to("musa")
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2)).to("musa")
"""


@dataclass(frozen=True)
class Call:
    """`native` is the same call written for MUSA; `plain` says whether it means the same in a torch that is not redirected."""

    cuda: str
    native: str
    plain: bool


def _call(cuda: str, *, plain: bool = False) -> Call:
    return Call(cuda, cuda.replace("cuda", "musa"), plain)


CALLS = (
    _call("torch.device('cpu')", plain=True),
    _call("torch.device('cuda')", plain=True),
    _call("torch.zeros(2)", plain=True),
    _call("torch.zeros(2, device='cpu')", plain=True),
    _call("torch.zeros(2, device='cuda')"),
    _call("torch.empty(2, device='cuda')"),
    _call("torch.tensor([1.0, 2.0], device='cuda')"),
    _call("torch.randn(2, device='cuda')"),
    _call("x.to('cpu')", plain=True),
    _call("y.to('cuda')"),
    _call("y.cuda()"),
    _call("x.is_cuda", plain=True),
    _call("y.is_cuda", plain=True),
    _call("x + x", plain=True),
    _call("y + y", plain=True),
    _call("torch.cuda.current_device", plain=True),
    _call("torch.cuda.current_device()"),
    _call("torch.cuda.device_count()"),
    _call("torch.cuda.Stream", plain=True),
    _call("net.to('cuda')"),
    # Under 0.1.103, torch.autocast("cuda") does nothing; torch.amp.autocast is the name it redirects.
    _call("with torch.amp.autocast('cuda', dtype=torch.float16): pass"),
)
