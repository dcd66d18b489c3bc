"""The pause of the garbage collector: nothing is collected within it, and what was made counts as old afterwards."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator

import pytest

from torchada.hooks.collector import paused


@pytest.fixture(autouse=True)
def _as_found(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads of the test runner are left out of account."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    thresholds = gc.get_threshold()
    gc.enable()
    yield
    gc.enable()
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def _make() -> list[list[int]]:
    return [[number] for number in range(5000)]


def test_nothing_is_collected_within_it() -> None:
    phases: list[str] = []
    gc.callbacks.append(lambda phase, info: phases.append(phase))
    try:
        with paused():
            made = _make()
            assert phases == [] and made
    finally:
        gc.callbacks.pop()


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


@pytest.mark.parametrize("pause", [gc.disable, lambda: gc.set_threshold(0)], ids=["disable", "threshold"])
@pytest.mark.parametrize("when", ["before", "within"])
def test_a_collector_that_the_program_pauses_stays_paused(pause: Callable[[], None], when: str) -> None:
    if when == "before":
        pause()
    with paused():
        if when == "within":
            pause()
    assert not gc.isenabled() or gc.get_threshold()[0] == 0


def test_thresholds_are_what_they_were() -> None:
    gc.set_threshold(701, 11, 12)
    before = gc.get_threshold()
    with paused(), paused():
        assert gc.isenabled()
    assert gc.get_threshold() == before


def test_a_threshold_that_the_program_sets_within_it_stays() -> None:
    with paused():
        gc.set_threshold(333)
    assert gc.get_threshold()[0] == 333


def test_other_threads_keep_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    before = gc.get_threshold()
    with paused():
        assert gc.get_threshold() == before and gc.isenabled()


def test_the_collector_runs_again_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ImportError), paused():
        raise ImportError("of the module")
    assert gc.isenabled() and gc.get_threshold() == before
