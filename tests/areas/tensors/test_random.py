"""Seeds, generator states and fork_rng of CUDA code."""

from __future__ import annotations

import torch


def _draw() -> list[float]:
    values: list[float] = torch.rand(4, device="cuda").tolist()
    return values


def test_manual_seed_reaches_the_device() -> None:
    torch.manual_seed(3)
    first = _draw()
    torch.manual_seed(3)
    assert _draw() == first


def test_cuda_seeds_leave_the_cpu_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    torch.cuda.manual_seed(99)
    torch.cuda.manual_seed_all(98)
    _draw()
    assert torch.equal(torch.rand(3), expected)


def test_get_and_set_rng_states() -> None:
    state, states = torch.cuda.get_rng_state("cuda:0"), torch.cuda.get_rng_state_all()
    first = _draw()
    torch.cuda.set_rng_state(state, device="cuda:0")
    assert _draw() == first
    torch.cuda.set_rng_state_all(states)
    assert _draw() == first
    assert len(states) == torch.cuda.device_count()


def test_fork_rng() -> None:
    torch.cuda.manual_seed_all(1)
    with torch.random.fork_rng(devices=[0], device_type="cuda"):
        inside = _draw()
    assert _draw() == inside
    with torch.random.fork_rng([0], True, "fork_rng", "devices", "cuda"):
        inside = _draw()
    assert _draw() == inside


def test_seed_and_seed_all() -> None:
    torch.cuda.manual_seed_all(17)
    torch.cuda.seed_all()
    seeds = {generator.initial_seed() for generator in torch.cuda.default_generators}
    assert len(seeds) == 1 and seeds != {17}
    torch.cuda.seed()
    assert torch.cuda.initial_seed() not in seeds


def test_initial_seed() -> None:
    torch.cuda.manual_seed(17)
    assert torch.cuda.initial_seed() == 17


def test_the_module_that_programs_for_several_accelerators_ask_for() -> None:
    state = torch.get_device_module("cuda").get_rng_state()
    first = _draw()
    torch.get_device_module("musa").random.set_rng_state(state)
    assert _draw() == first
