"""Random numbers: seeds, states, and the distributions by their moments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from torch_battery.check import expect
from torch_battery.table import Program

GROUP = "random"
_COUNT = 200_000
_SIGMAS = 6  # how many standard errors a mean may be away: one in a billion of right generators


def _moments(draw: Callable[[], Any], mean: float, deviation: float) -> None:
    """The mean and the standard deviation of `_COUNT` numbers, drawn with a fixed seed."""
    torch.cuda.manual_seed(11)
    numbers = draw().double().cpu()
    average, spread = numbers.mean().item(), numbers.std().item()
    allowed = _SIGMAS * deviation / _COUNT**0.5
    expect(
        abs(average - mean) <= allowed, f"the mean is {average:.5f}, and {mean:.5f} was expected within {allowed:.5f}"
    )
    expect(abs(spread - deviation) <= 0.05 * deviation, f"the deviation is {spread:.5f} and not {deviation:.5f}")


def _distribution(subject: str, draw: Callable[[], Any], mean: float, deviation: float, quick: bool = False) -> Program:
    return Program(subject, partial(_moments, draw, mean, deviation), "quick" if quick else "standard")


def _empty(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(_COUNT, device="cuda", dtype=dtype)


def _seeds() -> None:
    draws = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        draws.append(torch.rand(50, device="cuda"))
    expect(torch.equal(draws[0], draws[1]), "torch.manual_seed does not repeat the device's numbers")
    expect(not torch.equal(draws[0], draws[2]), "two seeds give the same numbers")


def _states() -> None:
    state = torch.cuda.get_rng_state()
    first = torch.randn(50, device="cuda")
    torch.cuda.set_rng_state(state)
    expect(torch.equal(torch.randn(50, device="cuda"), first), "set_rng_state does not go back to a state")
    with torch.random.fork_rng(devices=[0]):
        inside = torch.randn(50, device="cuda")
    expect(torch.equal(torch.randn(50, device="cuda"), inside), "fork_rng does not restore the state")


def _generators() -> None:
    one, other = (torch.Generator("cuda").manual_seed(3) for _ in range(2))
    torch.rand(7, device="cuda")
    first = torch.rand(50, device="cuda", generator=one)
    expect(torch.equal(first, torch.rand(50, device="cuda", generator=other)), "two generators of one seed differ")
    expect(not torch.equal(first, torch.rand(50, device="cuda", generator=one)), "a generator repeats its numbers")


def _permutation() -> None:
    permutation = torch.randperm(5000, device="cuda")
    expect(torch.equal(permutation.sort().values.cpu(), torch.arange(5000)), "randperm gives no permutation")
    expect(not torch.equal(permutation.cpu(), torch.arange(5000)), "randperm does not mix")


def _uniform_bins() -> None:
    torch.cuda.manual_seed(13)
    numbers = torch.rand(_COUNT, device="cuda").cpu()
    expect(numbers.min().item() >= 0 and numbers.max().item() < 1, "rand leaves [0, 1)")
    counts = torch.histc(numbers, 20, 0, 1)
    chi = ((counts - _COUNT / 20) ** 2 / (_COUNT / 20)).sum().item()
    expect(chi < 60, f"rand is not uniform: chi-square of 20 bins is {chi:.1f}")


def _dropout() -> torch.Tensor:
    return F.dropout(torch.ones(_COUNT, device="cuda"), 0.25)


def _weighted() -> torch.Tensor:
    return torch.multinomial(torch.tensor([1.0, 2.0, 1.0], device="cuda"), _COUNT, replacement=True)


TABLE = [
    Program("seeds", _seeds, "quick"),
    Program("states", _states),
    Program("generators", _generators),
    Program("permutation", _permutation),
    Program("uniform_bins", _uniform_bins),
    _distribution("rand", lambda: torch.rand(_COUNT, device="cuda"), 0.5, 12**-0.5, quick=True),
    _distribution("randn", lambda: torch.randn(_COUNT, device="cuda"), 0, 1, quick=True),
    _distribution("randn_float16", lambda: torch.randn(_COUNT, device="cuda", dtype=torch.float16), 0, 1),
    _distribution("randn_bfloat16", lambda: torch.randn(_COUNT, device="cuda", dtype=torch.bfloat16), 0, 1),
    _distribution("randint", lambda: torch.randint(0, 10, (_COUNT,), device="cuda"), 4.5, 8.25**0.5),
    _distribution("uniform", lambda: _empty().uniform_(-2, 4), 1, 3**0.5),
    _distribution("normal", lambda: _empty().normal_(3, 2), 3, 2),
    _distribution("exponential", lambda: _empty().exponential_(2), 0.5, 0.5),
    _distribution("bernoulli", lambda: _empty().bernoulli_(0.3), 0.3, 0.21**0.5),
    _distribution("geometric", lambda: _empty().geometric_(0.5), 2, 2**0.5),
    _distribution("log_normal", lambda: _empty().log_normal_(0, 0.25).log(), 0, 0.25),
    _distribution("poisson", lambda: torch.poisson(torch.full((_COUNT,), 3.0, device="cuda")), 3, 3**0.5),
    _distribution("multinomial", _weighted, 1, 0.5**0.5),
    _distribution("dropout", _dropout, 1, 3**-0.5),
    _distribution("alpha_dropout", lambda: F.alpha_dropout(torch.randn(_COUNT, device="cuda"), 0.2), 0, 1),
]
