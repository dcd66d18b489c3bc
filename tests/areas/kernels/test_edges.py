"""Kernels of torch_musa 2.7.1 that are wrong at the edge of what they take: CUDA's results.

The simulator's are right there. So each is replaced, before the device is used, by one that does what the vendor's sources say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

PLANTED = """
import warnings
import torch
inf = float("inf")
library = torch.library.Library("aten", "IMPL")

def plant(*names):
    def planted(function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in names:
                library.impl(name, function, "PrivateUse1")
    return planted

def on_the_cpu(name, *args, **kwargs):
    operator = getattr(getattr(torch.ops.aten, name.partition(".")[0]), name.partition(".")[2] or "default")
    return operator(*(x.cpu() if isinstance(x, torch.Tensor) else x for x in args), **kwargs)
"""

CASES = {
    "masked_fill": """
@plant("masked_fill_.Scalar")
def fill(self, mask, value):
    if self.is_complex():
        return self.copy_(torch.full(self.shape, value, dtype=self.dtype))
    return self.copy_(torch.where(mask.cpu(), value, self.cpu()))

@plant("masked_fill_.Tensor")
def fill_by_tensor(self, mask, value):
    if self.is_complex():
        return self.copy_(value.expand(self.shape))
    return self.copy_(torch.where(mask.cpu(), value.cpu(), self.cpu()))

x, mask = torch.arange(4) * (1 + 1j), torch.tensor([[True], [False]])
for value in (3, 2 - 1j, torch.tensor(2 - 1j), torch.tensor(0.5)):
    value_there = value.cuda() if isinstance(value, torch.Tensor) else value
    assert torch.equal(x.cuda().masked_fill(mask.cuda(), value_there).cpu(), x.masked_fill(mask, value)), value
""",
    "cumulative": """
for name in ("cumsum", "cumprod"):
    @plant(f"{name}_")
    def in_place(self, dim, dtype=None, name=name):
        return self.copy_(on_the_cpu(name, self, dim)) if self.is_contiguous() else self
    @plant(f"{name}.out")
    def into(self, dim, dtype=None, *, out, name=name):
        return out.copy_(on_the_cpu(name, self, dim)) if out.is_contiguous() else out
x = torch.arange(1.0, 7).reshape(2, 3)
for name in ("cumsum", "cumprod"):
    wanted, there = getattr(x, name)(1), x.t().contiguous().cuda().t()
    assert torch.equal(getattr(there, name + "_")(1).cpu(), wanted), name
    out = torch.zeros(3, 2, device="cuda").t()
    assert getattr(torch, name)(x.cuda(), 1, out=out) is out and torch.equal(out.cpu(), wanted), name
    assert out.stride() == (1, 2)
    assert torch.equal(getattr(x.cuda(), name + "_")(1).cpu(), wanted), "contiguous"
""",
    "nothing": """
@plant("mean.dim")
def mean(self, dim, keepdim=False, *, dtype=None):
    found = on_the_cpu("mean.dim", self, dim, keepdim, dtype=dtype)
    return (found if self.numel() else torch.zeros_like(found)).to(self.device)

@plant("prod")
def prod(self, *, dtype=None):
    return (on_the_cpu("prod", self, dtype=dtype) if self.numel() else torch.tensor(0.0)).to(self.device)

@plant("max")
def maximum(self):
    return (on_the_cpu("max", self) if self.numel() else torch.tensor(0.0)).to(self.device)

x = torch.ones(0, 3, device="cuda")
assert x.mean().isnan() and x.mean(0).isnan().all() and x.mean(0).shape == (3,) and x.mean(1).shape == (0,)
assert x.prod() == 1 and x.half().prod().dtype == torch.float16 and torch.ones(2, device="cuda").prod() == 1
try:
    x.max()
except RuntimeError as error:
    assert "max(): Expected reduction dim" in str(error), error
else:
    raise AssertionError
assert torch.tensor([1.0, 3.0], device="cuda").max() == 3 and torch.tensor([1.0, 3.0], device="cuda").mean() == 2
""",
    "sums": """
@plant("sum.dim_IntList")
def total(self, dim, keepdim=False, *, dtype=None):
    if self.dtype == torch.int64 and dtype is not None and dtype.is_floating_point:
        self = self.cpu().to(torch.int32)
    return on_the_cpu("sum.dim_IntList", self, dim, keepdim, dtype=dtype).to("musa")

x = torch.tensor([[2**31, 5], [2**40, -1]])
for dtype in (torch.float32, torch.float64):
    assert torch.equal(x.cuda().sum(0, dtype=dtype).cpu(), x.sum(0, dtype=dtype))
    assert torch.equal(x.cuda().sum(dtype=dtype).cpu(), x.sum(dtype=dtype))
assert x.cuda().sum() == x.sum()
""",
    "clamp": """
for name in ("clamp", "clamp_min", "clamp_max"):
    @plant(name)
    def cut(self, *bounds, name=name):
        cut = (lambda bound: bound) if self.is_floating_point() else int
        bounds = [None if bound is None else cut(bound) for bound in bounds]
        return on_the_cpu(name, self, *bounds).to(self.device)

x = torch.arange(-2, 3)
for bounds in ((-0.5, 1.5), (0.5, None), (None, 0.5), (-1.5, 1)):
    found, wanted = x.cuda().clamp(*bounds), x.clamp(*bounds)
    assert torch.equal(found.cpu(), wanted) and found.dtype == torch.float32, bounds
assert torch.equal(torch.clamp_min(x.cuda(), 0.5).cpu(), torch.clamp_min(x, 0.5))
assert x.cuda().clamp(0, 1).dtype == torch.int64 and torch.equal(x.int().cuda().clamp(min=1).cpu(), x.int().clamp(min=1))
out = torch.empty(5, device="cuda")
assert torch.equal(torch.clamp(x.cuda(), 0.5, out=out).cpu(), x.clamp(0.5)), out
for refused in (lambda x: x.clamp_(0.5), lambda x: torch.clamp(x, 0.5, out=torch.empty_like(x))):
    words = []
    for given in (x.clone(), x.cuda()):
        try:
            refused(given)
        except RuntimeError as error:
            words.append(str(error))
    assert len(words) == 2 and words[0] == words[1], words
""",
    "loss scale": """
@plant("_amp_update_scale_")
def update(scale, tracker, found_inf, growth, backoff, interval):
    found, steps = found_inf.cpu().item() != 0, tracker.cpu().item() + 1
    scale.copy_(torch.tensor([scale.cpu().item() * (backoff if found else growth if steps == interval else 1)]))
    tracker.copy_(torch.tensor([0 if found or steps == interval else steps]))
    return scale

def updated(device, scale, steps, infinite):
    scale, tracker = torch.tensor([scale], device=device), torch.tensor([steps], dtype=torch.int32, device=device)
    torch._amp_update_scale_(scale, tracker, torch.tensor([float(infinite)], device=device), 2.0, 0.5, 3)
    return scale.item(), tracker.item()

for case in ((2.0, 0, 0), (2.0, 2, 0), (2.0, 2, 1), (3e38, 2, 0), (3e38, 1, 1)):
    assert updated("cuda", *case) == updated("cpu", *case), case
""",
}


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_at_the_edge_the_result_is_cudas(musa: Interpreter, tmp_path: Path, case: str) -> None:
    """With a cache of its own: what probes of planted kernels find must not be remembered for the simulator's."""
    env = {"TORCHADA_CACHE_DIR": str(tmp_path / "cache"), "TORCHADA_CPP_GATES": "0"}
    musa.run(PLANTED + CASES[case], env=env, forked=True)


@pytest.mark.slow
@pytest.mark.once
def test_gates_in_cpp_decide_alike(musa: Interpreter, tmp_path: Path) -> None:
    """In one cache, where the first process compiles the gates for about a minute."""
    env = {"TORCHADA_CACHE_DIR": str(tmp_path / "cache"), "TORCHADA_CPP_GATES": "1"}
    state = '\nfrom torchada.areas.kernels._gates.gates import GATES\nassert GATES.state == "gates in C++", GATES.state'
    for case in CASES.values():
        musa.run(PLANTED + case + state, env=env, timeout=600, forked=True)


REFUSED = """
@plant("embedding_dense_backward")
def gradient(grad, indices, number, padding, scales):
    if scales:
        raise RuntimeError("unsupported scale_grad_by_freq")
    return on_the_cpu("embedding_dense_backward", grad, indices, number, padding, scales).to(grad.device)

@plant("_unique2")
def unique(self, sorted=True, inverse=False, counts=False):
    if self.dtype == torch.bool:
        raise RuntimeError("unsupported Bool")
    return tuple(x.to(self.device) for x in on_the_cpu("_unique2", self, sorted, inverse, counts))

@plant("reflection_pad1d", "replication_pad2d")
def pad(self, padding):
    raise RuntimeError("unsupported Double")

F = torch.nn.functional
gradients = {}
for device in ("cpu", "cuda"):
    weight = torch.ones(4, 2, device=device, requires_grad=True)
    F.embedding(torch.tensor([1, 1, 3], device=device), weight, scale_grad_by_freq=True).sum().backward()
    gradients[device] = weight.grad.cpu()
assert torch.equal(gradients["cpu"], gradients["cuda"])
assert torch.tensor([True, False, True], device="cuda").unique().tolist() == [False, True]
x = torch.arange(12.0, dtype=torch.float64).reshape(1, 1, 3, 4)
assert torch.equal(F.pad(x[0].cuda(), (1, 2), mode="reflect").cpu(), F.pad(x[0], (1, 2), mode="reflect"))
assert torch.equal(F.pad(x.cuda(), (1, 2, 0, 1), mode="replicate").cpu(), F.pad(x, (1, 2, 0, 1), mode="replicate"))
"""


def test_what_is_refused_is_computed(musa: Interpreter, tmp_path: Path) -> None:
    """With gates in Python, because those in C++ take an error of the kernel that is planted for one of the program."""
    env = {"TORCHADA_CPP_GATES": "0", "TORCHADA_CPU_FALLBACK": "silent", "TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    musa.run(PLANTED + REFUSED, env=env, forked=True)
