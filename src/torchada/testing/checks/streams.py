"""Streams, events and graphs."""

from __future__ import annotations

from torchada.testing.subject import Subject, expect


def current(subject: Subject) -> None:
    make, entered, asked = subject.get("Stream"), subject.get("stream"), subject.get("current_stream")
    before, stream = asked(), make()
    with entered(stream):
        expect(asked() == stream, "within stream(s), current_stream() is not s")
    expect(asked() == before, "after stream(s), current_stream() is not what it was")
    with entered(None):
        expect(asked() == before, "stream(None) changes the current stream")


def work(subject: Subject) -> None:
    stream = subject.get("Stream")()
    host, own = subject.numbers(16)
    stream.wait_stream(subject.get("current_stream")())
    with subject.get("stream")(stream):
        result = own * 3
    stream.synchronize()
    expect(stream.query() is True, "after synchronize(), a stream says that it has work left")
    subject.same(result, host * 3, "what was computed on another stream")


def events(subject: Subject) -> None:
    make = subject.get("Event")
    begin, end = make(enable_timing=True), make(enable_timing=True)
    begin.record()
    host, own = subject.numbers(16)
    result = own + 1
    end.record()
    end.synchronize()
    expect(end.query() is True, "after synchronize(), an event says that it is still to come")
    expect(begin.elapsed_time(end) >= 0, f"the time between two events is {begin.elapsed_time(end)} ms")
    subject.same(result, host + 1, "what was computed between two events")


def graphs(subject: Subject) -> None:
    graph, stream = subject.get("CUDAGraph")(), subject.get("Stream")()
    host, own = subject.numbers(4)
    subject.namespace.synchronize()
    with subject.get("stream")(stream):
        graph.capture_begin()
        result = own * 2 + 1
        graph.capture_end()
    own.copy_(host + 10)
    graph.replay()
    subject.namespace.synchronize()
    subject.same(result, (host + 10) * 2 + 1, "what a graph computes when it is replayed with another input")
