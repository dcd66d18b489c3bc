"""Which device is the current one, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from torchada.testing.subject import Subject, expect


@contextmanager
def _on(subject: Subject, index: int) -> Iterator[None]:
    """Make a device the current one within the block, and restore the previous one afterwards."""
    before = subject.namespace.current_device()
    subject.namespace.set_device(index)
    try:
        yield
    finally:
        subject.namespace.set_device(before)


def count(subject: Subject) -> None:
    number = subject.namespace.device_count()
    expect(type(number) is int and number > 0, f"device_count() is {number!r}, not a number of devices")


def current(subject: Subject) -> None:
    reported = subject.namespace.current_device()
    expect(type(reported) is int, f"current_device() is {reported!r}, not a number")
    expect(0 <= reported < subject.namespace.device_count(), f"current_device() is {reported}, which is no device")


def available(subject: Subject) -> None:
    answer = subject.namespace.is_available()
    expect(answer is True, f"is_available() is {answer!r} on a machine with {subject.namespace.device_count()} devices")


def switched(subject: Subject) -> None:
    index, name = subject.another_device(), subject.backend.device_type
    for spelled in (index, f"{name}:{index}", subject.device(index)):
        with _on(subject, 0):
            subject.namespace.set_device(spelled)
            reported = subject.namespace.current_device()
            expect(reported == index, f"after set_device({spelled!r}), current_device() is {reported}")


def refused(subject: Subject) -> None:
    beyond = subject.namespace.device_count()
    for text, use in (
        (f"a tensor on {subject.device(beyond)}", lambda: subject.torch.empty(1, device=subject.device(beyond))),
        (f"set_device({beyond})", lambda: _set_and_use(subject, beyond)),
    ):
        try:
            use()
        except Exception:
            continue
        expect(False, f"{text} is accepted on a machine with {beyond} devices")


def _set_and_use(subject: Subject, index: int) -> None:
    with _on(subject, subject.namespace.current_device()):
        subject.namespace.set_device(index)
        subject.torch.empty(1, device=subject.device())


def of_a_thread(subject: Subject) -> None:
    index, reported = subject.another_device(), list[int]()
    with _on(subject, index):
        thread = Thread(target=lambda: reported.append(subject.namespace.current_device()))
        thread.start()
        thread.join()
    expect(
        reported == [0], f"a new thread begins with device {reported}, not with the first one, whatever others have set"
    )


def without_a_number(subject: Subject) -> None:
    index = subject.another_device()
    with _on(subject, index):
        device = subject.torch.empty(1, device=subject.device()).device
    expect(
        device.index == index,
        f"with device {index} current, {subject.backend.device_type!r} without a number is {device}",
    )


def operations_stay(subject: Subject) -> None:
    index, before = subject.another_device(), subject.namespace.current_device()
    host, own = subject.numbers(4, index=index)
    result = own * 2 + 1
    expect(result.device == own.device, f"the result of an operation on {own.device} is on {result.device}")
    subject.same(result, host * 2 + 1, f"the result of an operation on {own.device}")
    after = subject.namespace.current_device()
    expect(after == before, f"an operation on {own.device} makes device {after} current, where it was {before}")


def context(subject: Subject) -> None:
    index, before = subject.namespace.device_count() - 1, subject.namespace.current_device()
    with subject.get("device")(index):
        reported = subject.namespace.current_device()
        expect(reported == index, f"within device({index}), current_device() is {reported}")
    reported = subject.namespace.current_device()
    expect(reported == before, f"after device({index}), current_device() is {reported}, not {before} as before")


def properties(subject: Subject) -> None:
    answer = subject.get("get_device_properties")(0)
    absent = [name for name in ("name", "total_memory", "multi_processor_count") if not hasattr(answer, name)]
    expect(not absent, f"the properties of a device have no {', '.join(absent)}")


def capability(subject: Subject) -> None:
    answer = subject.get("get_device_capability")(0)
    expect(isinstance(answer, tuple) and len(answer) == 2, f"get_device_capability(0) is {answer!r}, not two numbers")


def synchronized(subject: Subject) -> None:
    host, own = subject.numbers(64)
    result = own + 1
    subject.namespace.synchronize()
    subject.same(result, host + 1, "a result after synchronize()")
