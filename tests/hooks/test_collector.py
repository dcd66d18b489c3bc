"""The pause of the garbage collector: nothing is collected within it, and what was made counts as old afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from torchada.hooks.collector import paused


@pytest.fixture(autouse=True)
def _as_found() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()
    gc.unfreeze()


def _make() -> list[list[int]]:
    return [[number] for number in range(5000)]


def test_nothing_is_collected_within_it() -> None:
    phases: list[str] = []
    gc.callbacks.append(lambda phase, info: phases.append(phase))
    try:
        with paused():
            made = _make()
            assert phases == [] and not gc.isenabled() and made
    finally:
        gc.callbacks.pop()
    assert gc.isenabled()


def test_objects_made_within_it_are_in_the_oldest_generation() -> None:
    with paused():
        made = _make()
    old = set(map(id, gc.get_objects(generation=2)))
    assert {id(each) for each in made} <= old


def test_cycles_made_within_it_are_still_collected() -> None:
    with paused():
        cycle: list[object] = []
        cycle.append(cycle)
        del cycle
    assert gc.collect() >= 1


def test_objects_that_the_program_froze_stay_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with paused():
        _make()
    assert gc.get_freeze_count() == frozen > 0


def test_a_collector_that_the_program_paused_stays_paused() -> None:
    gc.disable()
    with paused():
        pass
    assert not gc.isenabled()


def test_the_collector_runs_again_after_an_error() -> None:
    with pytest.raises(ImportError), paused():
        raise ImportError("of the module")
    assert gc.isenabled()
