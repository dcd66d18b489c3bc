"""Seeds, states and generators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchada.testing.subject import Lacks, Subject, expect


def _drawn(subject: Subject, index: int = 0, **options: Any) -> list[float]:
    numbers: list[float] = subject.torch.rand(8, device=subject.device(index), **options).cpu().tolist()
    return numbers


def _follows(subject: Subject, seed: Callable[[int], Any], what: str) -> None:
    seed(1)
    first, more = _drawn(subject), _drawn(subject)
    seed(1)
    expect(_drawn(subject) == first, f"{what} with the same seed gives other numbers")
    expect(more != first, "the same numbers are drawn twice in a row")
    seed(2)
    expect(_drawn(subject) != first, f"{what} with another seed gives the same numbers")


def of_torch(subject: Subject) -> None:
    _follows(subject, subject.torch.manual_seed, "torch.manual_seed")


def of_the_device(subject: Subject) -> None:
    _follows(subject, subject.get("manual_seed"), "manual_seed")


def of_all_devices(subject: Subject) -> None:
    index, seed = subject.another_device(), subject.get("manual_seed_all")
    seed(1)
    first = _drawn(subject, index)
    seed(1)
    expect(_drawn(subject, index) == first, f"manual_seed_all does not seed device {index}")


def states(subject: Subject) -> None:
    before = subject.get("get_rng_state")()
    first = _drawn(subject)
    subject.get("set_rng_state")(before)
    expect(_drawn(subject) == first, "after set_rng_state(get_rng_state()) other numbers are drawn")


def generators(subject: Subject) -> None:
    torch = subject.torch
    try:
        generator = torch.Generator(subject.device(0))
    except Exception as error:
        raise Lacks(f"torch.Generator({str(subject.device(0))!r}) raises {type(error).__name__}") from error

    def drawn(seed: int) -> list[float]:
        return _drawn(subject, generator=generator.manual_seed(seed))

    first = drawn(1)
    expect(drawn(1) == first and drawn(2) != first, "what a generator draws does not follow from its seed")
    expect(generator.initial_seed() == 2, f"a generator with seed 2 says {generator.initial_seed()}")
