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
    found = subject.namespace.device_count()
    expect(type(found) is int and found > 0, f"device_count() is {found!r}, not a number of devices")


def current(subject: Subject) -> None:
    found = subject.namespace.current_device()
    expect(type(found) is int, f"current_device() is {found!r}, not a number")
    expect(0 <= found < subject.namespace.device_count(), f"current_device() is {found}, which is no device")


def available(subject: Subject) -> None:
    found = subject.namespace.is_available()
    expect(found is True, f"is_available() is {found!r} on a machine with {subject.namespace.device_count()} devices")


def switched(subject: Subject) -> None:
    index, name = subject.another_device(), subject.backend.device_type
    for spelled in (index, f"{name}:{index}", subject.device(index)):
        with _on(subject, 0):
            subject.namespace.set_device(spelled)
            found = subject.namespace.current_device()
            expect(found == index, f"after set_device({spelled!r}), current_device() is {found}")


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
    index, found = subject.another_device(), list[int]()
    with _on(subject, index):
        thread = Thread(target=lambda: found.append(subject.namespace.current_device()))
        thread.start()
        thread.join()
    expect(found == [0], f"a new thread begins with device {found}, not with the first one, whatever others have set")


def without_a_number(subject: Subject) -> None:
    index = subject.another_device()
    with _on(subject, index):
        found = subject.torch.empty(1, device=subject.device()).device
    expect(
        found.index == index,
        f"with device {index} current, {subject.backend.device_type!r} without a number is {found}",
    )


def operations_stay(subject: Subject) -> None:
    index, before = subject.another_device(), subject.namespace.current_device()
    host, own = subject.numbers(4, index=index)
    result = own * 2 + 1
    expect(result.device == own.device, f"the result of an operation on {own.device} is on {result.device}")
    subject.same(result, host * 2 + 1, f"the result of an operation on {own.device}")
    found = subject.namespace.current_device()
    expect(found == before, f"an operation on {own.device} makes device {found} current, where it was {before}")


def context(subject: Subject) -> None:
    index, before = subject.namespace.device_count() - 1, subject.namespace.current_device()
    with subject.get("device")(index):
        found = subject.namespace.current_device()
        expect(found == index, f"within device({index}), current_device() is {found}")
    found = subject.namespace.current_device()
    expect(found == before, f"after device({index}), current_device() is {found}, not {before} as before")


def properties(subject: Subject) -> None:
    found = subject.get("get_device_properties")(0)
    absent = [name for name in ("name", "total_memory", "multi_processor_count") if not hasattr(found, name)]
    expect(not absent, f"the properties of a device have no {', '.join(absent)}")


def capability(subject: Subject) -> None:
    found = subject.get("get_device_capability")(0)
    expect(isinstance(found, tuple) and len(found) == 2, f"get_device_capability(0) is {found!r}, not two numbers")


def synchronized(subject: Subject) -> None:
    host, own = subject.numbers(64)
    result = own + 1
    subject.namespace.synchronize()
    subject.same(result, host + 1, "a result after synchronize()")
