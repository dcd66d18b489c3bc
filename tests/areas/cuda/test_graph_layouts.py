"""The releases of torch_musa keep the members of a graph at different places: the right ones are written, or none."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.stand_ins.graph_objects import NEW, OLD, Places, Runtime, graph_class
from torchada.areas.cuda._graph_class import capture_methods, rotation_methods
from torchada.areas.cuda._graph_handles import Driver, address
from torchada.areas.cuda._graph_layouts import Life, Since20, Since291Post1, proven
from torchada.areas.cuda._graph_rotation import _NOT_KNOWN, Rotation
from torchada.areas.cuda._graph_trial import Trial
from torchada.base import warnings as torchada_warnings

pytestmark = pytest.mark.once

TORCH: Any = SimpleNamespace(
    zeros=lambda *_, **__: SimpleNamespace(zero_=lambda: None),
    utils=SimpleNamespace(_python_dispatch=SimpleNamespace(_disable_current_modes=nullcontext)),
)
STREAM = SimpleNamespace(synchronize=lambda: None)


def on_stream(stream: object = STREAM, capturing: bool = False) -> SimpleNamespace:
    return SimpleNamespace(
        current_stream=lambda: stream, default_stream=lambda: None, is_current_stream_capturing=lambda: capturing
    )


def trial(graph: type) -> Trial:
    return Trial(TORCH, on_stream(), "musa", graph)


class Program:
    """A process with graphs of one class, of which torchada keeps three executables."""

    def __init__(self, places: Places, **options: Any) -> None:
        self.runtime = Runtime()
        self.graph: Any = graph_class(self.runtime, places, **options)
        driver = Driver(self.runtime, lambda name: name.replace("cuda", "musa"))  # type: ignore[arg-type]
        self.rotation = Rotation(lambda: driver, lambda: 3, trial(self.graph), lambda index: nullcontext())
        nothing = SimpleNamespace(prepare=id, write=id, add=id, remove=id, start=id, stop=id, forget=id)
        parts = SimpleNamespace(
            dumps=nothing, executables=nothing, rotation=self.rotation, pools=None, device=lambda: 0
        )
        methods = rotation_methods(self.graph, self.rotation, "musa")
        methods |= capture_methods(self.graph, True, nothing, parts)  # type: ignore[arg-type]
        for name, method in methods.items():
            setattr(self.graph, name, method)

    def captured(self, *arguments: object) -> Any:
        graph = self.graph(*arguments)
        graph.capture_begin()
        graph.capture_end()
        return graph


@pytest.fixture(autouse=True)
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, None]]:
    """What torchada warns of."""
    messages: dict[str, None] = {}
    monkeypatch.setattr(torchada_warnings, "_said", messages)
    monkeypatch.setenv("TORCHADA_STRICT", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torchada_warnings.TorchadaWarning)
        yield messages


def test_the_flag_of_the_executable_is_cleared_and_not_the_one_of_the_capture() -> None:
    """What capture_end() of torch_musa 2.9.1.post1 leaves, with the flags in its order."""
    memory = (ctypes.c_uint8 * 24)()
    runtime = Runtime()
    graph = runtime.record()
    executable = runtime.instantiate(graph)
    ctypes.memmove(memory, graph.to_bytes(8, "little") + executable.to_bytes(8, "little") + b"\1\1\1", 19)
    held = Since291Post1.from_buffer(memory)
    assert held.is_full
    driver = Driver(runtime, lambda name: name.replace("cuda", "musa"))  # type: ignore[arg-type]
    assert driver.give_up(held) == 0
    assert held.is_recorded and bytes(memory[16:19]) == b"\1\1\0" and held.executable is None
    assert driver.instantiate(held) == 0
    assert bytes(memory[16:19]) == b"\1\1\1" and runtime.executables == {held.executable: graph}


RELEASES = {
    "2.7.1": (OLD, {}),
    "2.9.1.post1": (NEW, {"keeps": True, "raw": True}),
    "2.9.1.post1 without handles": (NEW, {"keeps": True}),
    "the old layout with keep_graph": (OLD, {"keeps": True, "raw": True}),
}
# All but the last two look like a known layout before and after the capture of a default graph.
UNKNOWN = {
    "executable before capture": (Places(has_executable=17, capture_ended=18), {"keeps": True, "raw": True}),
    "the same without handles": (Places(has_executable=17, capture_ended=18), {"keeps": True}),
    "flags exchanged": (Places(has_graph=17, has_executable=16), {}),
    "three flags, and no way to tell them apart": (NEW, {}),
    "three flags in another order, and no way to tell them apart": (Places(has_executable=17, capture_ended=18), {}),
    "handles exchanged": (NEW._replace(graph=8, executable=0), {"keeps": True}),
    "a gap": (Places(has_executable=18), {}),
    "a later flag": (Places(has_executable=17, capture_ended=23), {"keeps": True}),
}


@pytest.mark.parametrize("release", RELEASES)
def test_graphs_of_a_known_layout_rotate(release: str, said: dict[str, None]) -> None:
    places, options = RELEASES[release]
    program = Program(places, **options)
    graphs = [program.captured() for _ in range(8)]
    for _ in range(2):
        for graph in graphs:
            graph.replay()
            assert graph.pool() == (0, 1)
    assert program.rotation.made_again >= 15 and not said
    assert program.runtime.most <= 3 and len(program.runtime.graphs) == 8, "the trial counts, and leaves nothing"
    for graph in graphs:
        graph.reset()
        assert not any(graph._get(name) for name in Places._fields if getattr(places, name) is not None)
    assert not program.runtime.graphs and not program.runtime.executables


@pytest.mark.parametrize("layout", UNKNOWN)
def test_no_graph_of_an_unknown_layout_is_written(layout: str, said: dict[str, None]) -> None:
    places, options = UNKNOWN[layout]
    program = Program(places, **options)
    graphs, memories = [], []
    for _ in range(8):
        graphs.append(program.captured())
        memories.append(bytes(graphs[-1]._memory))
    assert [bytes(graph._memory) for graph in graphs] == memories
    assert len(program.runtime.executables) == len(program.runtime.graphs) == 8, "the trial leaves nothing"
    assert list(said) == [_NOT_KNOWN] and program.rotation.is_off and not program.rotation.is_under_way
    for graph in graphs:
        graph.replay()
        graph.reset()


@st.composite
def any_places(draw: st.DrawFn) -> Places:
    graph, executable = draw(st.permutations([0, 8]))
    flags = draw(st.permutations(range(16, 20)))
    return Places(graph, executable, flags[0], flags[1], flags[2] if draw(st.booleans()) else None)


def expected(places: Places, keeps: bool) -> type | None:
    """has_graph and capture_ended are only read, and have the same value wherever they are, so they may be exchanged."""
    if (places.graph, places.executable) != (0, 8):
        return None
    if places == OLD:
        return Since20
    is_new = places.has_executable == 18 and {places.has_graph, places.capture_ended} == {16, 17}
    return Since291Post1 if is_new and keeps else None


@settings(max_examples=300, deadline=None)
@given(any_places(), st.booleans(), st.booleans(), st.integers(0, 1000))
def test_only_the_known_layouts_are_proven(places: Places, keeps: bool, raw: bool, unused: int) -> None:
    if not keeps:
        places = places._replace(graph=0, executable=8)  # which of them is which cannot be seen there
    graph = graph_class(Runtime(), places, keeps=keeps, raw=raw, seed=unused)
    assert trial(graph).layout() is expected(places, keeps)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(RELEASES)))
def test_unused_bytes_do_not_matter(unused: int, release: str) -> None:
    places, options = RELEASES[release]
    graph = graph_class(Runtime(), places, **options, seed=unused)
    assert trial(graph).layout() is (Since20 if places == OLD else Since291Post1)


def test_handles_that_the_class_does_not_confirm_are_not_believed() -> None:
    graph: Any = graph_class(Runtime(), NEW, keeps=True, raw=True)
    right = graph.raw_musa_graph_exec
    graph.raw_musa_graph_exec = lambda self: right(self) + 1
    assert trial(graph).layout() is None
    graph.raw_musa_graph_exec = lambda self: self._get("executable")  # it answers without an executable
    assert trial(graph).layout() is None


def test_an_instantiation_that_shows_nothing_proves_nothing() -> None:
    graph: Any = graph_class(Runtime(), NEW, keeps=True)
    graph.instantiate = lambda self: None
    assert trial(graph).layout() is None


@pytest.mark.parametrize("moment", ["new", "under_way", "reset"])
@pytest.mark.parametrize("byte", [0, 8, 16, 17, 18])
def test_a_member_that_is_set_without_a_capture_proves_nothing(moment: str, byte: int) -> None:
    handles = bytes([1]).ljust(8, b"\0")
    empty, ended, full = (
        bytes(24),
        handles + bytes(8) + b"\1\1".ljust(8, b"\0"),
        handles * 2 + b"\1\1\1".ljust(8, b"\0"),
    )
    life = Life(empty, empty, ended, full, empty)
    assert proven(life) is Since291Post1
    wrong = bytearray(empty)
    wrong[byte] = 1
    assert proven(life._replace(**{moment: bytes(wrong)})) is None


def test_a_capture_that_fails_proves_nothing() -> None:
    graph: Any = graph_class(Runtime(), OLD)

    def capture_begin(self: Any, **_: object) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    graph.capture_begin = capture_begin
    assert trial(graph).layout() is None


def test_the_trial_waits_for_a_stream_that_can_be_captured() -> None:
    graph = graph_class(Runtime(), OLD)
    assert Trial(TORCH, on_stream(), "musa", graph).is_possible()
    assert not Trial(TORCH, on_stream(None), "musa", graph).is_possible()
    assert not Trial(TORCH, on_stream(capturing=True), "musa", graph).is_possible()


def test_no_trial_while_the_stream_cannot_be_captured(said: dict[str, None]) -> None:
    """A capture fails there, with the adapter's own error, and the next one is as any."""
    program = Program(OLD)
    namespace = program.rotation._trial._namespace
    namespace.is_current_stream_capturing = lambda: True
    graphs = [program.captured() for _ in range(4)]
    assert len(program.runtime.executables) == 4 and not program.rotation.is_under_way
    namespace.is_current_stream_capturing = lambda: False
    graphs.append(program.captured())
    assert len(program.runtime.executables) == 3 and not said


def test_a_trial_that_contradicts_the_graphs_of_the_program(said: dict[str, None]) -> None:
    program = newer()
    program.rotation._trial = SimpleNamespace(is_possible=lambda: True, layout=lambda: Since20)  # type: ignore[assignment]
    graphs = [program.captured(True), *(program.captured() for _ in range(4))]
    assert [graph._get("has_executable") for graph in graphs] == [0, 1, 1, 1, 1]
    assert list(said) == [_NOT_KNOWN]


def test_an_unknown_layout_is_named_at_the_first_capture(said: dict[str, None]) -> None:
    program = Program(Places(has_executable=18))
    program.captured()
    assert list(said) == [_NOT_KNOWN]


def test_a_graph_that_is_not_empty_before_its_capture(said: dict[str, None]) -> None:
    graph = Program(OLD).graph()
    graph._memory[16] = 2
    graph.capture_begin()
    assert list(said) == [_NOT_KNOWN]


def test_a_graph_that_was_reset_behind_our_back_is_not_written(said: dict[str, None]) -> None:
    program = Program(OLD)
    reset = program.graph.__base__.reset
    graphs = [program.captured() for _ in range(3)]
    reset(graphs[0])
    memory = bytes(graphs[0]._memory)
    graphs += [program.captured() for _ in range(3)]
    assert bytes(graphs[0]._memory) == memory and not said
    assert len(program.runtime.executables) == 3


def test_an_object_of_another_kind_has_no_known_address() -> None:
    value: Any = complex(1.0, 2.0)
    assert address(value) is None


def newer() -> Program:
    return Program(NEW, keeps=True, raw=True)


def test_graphs_that_keep_what_was_captured_keep_their_executables(said: dict[str, None]) -> None:
    program = newer()
    kept = program.captured(True)
    assert kept._get("has_executable") == 0
    kept.instantiate()
    handle = kept._get("executable")
    for graph in [program.captured() for _ in range(6)]:
        graph.replay()
    kept.replay()
    assert kept.raw_musa_graph_exec() == handle and kept.raw_musa_graph() == kept._get("graph")
    kept.instantiate()
    assert program.runtime.most <= 3 + 1 and not said, "an executable is made again before the old one is destroyed"
    kept.reset()
    assert len(program.rotation) <= 3


def test_a_graph_whose_executable_the_program_knows_keeps_it() -> None:
    program = newer()
    first = program.captured()
    others = [program.captured() for _ in range(6)]
    assert first._get("has_executable") == 0, "it was the first to give up"
    handle = first.raw_musa_graph_exec()
    for graph in others:
        graph.replay()
    assert first.raw_musa_graph_exec() == handle in program.runtime.executables


def test_instantiate_is_refused_for_a_graph_that_has_given_up_its_executable() -> None:
    program = newer()
    graphs = [program.captured() for _ in range(6)]
    with pytest.raises(RuntimeError, match="only when keep_graph=true"):
        graphs[0].instantiate()


def test_a_dumped_graph_can_be_reset_and_captured_again(said: dict[str, None]) -> None:
    program = newer()
    graphs = [program.captured() for _ in range(6)]
    graphs[0].debug_dump("graph.dot")
    with pytest.raises(RuntimeError, match="already owns"):
        graphs[0].capture_begin()
    graphs[0].reset()
    graphs[0].capture_begin()
    graphs[0].capture_end()
    graphs[0].replay()
    assert not said and not program.rotation.is_off
