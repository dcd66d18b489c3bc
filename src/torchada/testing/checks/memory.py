"""The allocator's statistics."""

from __future__ import annotations

from torchada.testing.subject import Subject, expect

_SIZE = 4 << 20


def allocated(subject: Subject) -> None:
    asked, before = subject.get("memory_allocated"), subject.get("memory_allocated")()
    tensor = subject.torch.empty(
        _SIZE, dtype=subject.torch.uint8, device=subject.device(subject.namespace.current_device())
    )
    grown = asked() - before
    expect(grown >= tensor.nbytes, f"memory_allocated() grows by {grown} for a tensor of {_SIZE} bytes")
    del tensor
    left = asked() - before
    expect(left < _SIZE, f"memory_allocated() keeps {left} bytes of a tensor that is no more")


def peak(subject: Subject) -> None:
    device = subject.device(subject.namespace.current_device())
    subject.torch.empty(_SIZE, dtype=subject.torch.uint8, device=device)
    now, most = subject.get("memory_allocated")(), subject.get("max_memory_allocated")()
    expect(most >= now + _SIZE, f"max_memory_allocated() is {most} after a tensor of {_SIZE} bytes beside {now}")


def free(subject: Subject) -> None:
    available, total = subject.get("mem_get_info")()
    expect(0 <= available <= total and total > 0, f"mem_get_info() is {(available, total)}, not free and total bytes")


def statistics(subject: Subject) -> None:
    stats = subject.get("memory_stats")()
    absent = [f"{kind}.all.{when}" for kind in ("allocated_bytes", "reserved_bytes") for when in ("current", "peak")]
    absent = [name for name in absent if name not in stats]
    expect(not absent, f"memory_stats() has no {', '.join(absent)}")


def cache(subject: Subject) -> None:
    host, own = subject.numbers(8)
    subject.get("empty_cache")()
    subject.same(own, host, "a tensor after empty_cache()")
