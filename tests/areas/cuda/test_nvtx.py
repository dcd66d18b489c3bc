"""torch.cuda.nvtx and emit_nvtx: the semantics that nvToolsExt documents, with nobody listening."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.autograd.profiler import emit_nvtx
from torch.autograd.profiler_util import FunctionEvent
from torch.cuda import nvtx
from torch.profiler import ProfilerActivity, profile

from support.interpreter import Interpreter


@pytest.fixture(autouse=True)
def _no_ranges_left() -> Iterator[None]:
    yield
    while nvtx.range_pop() >= 0:
        pass


def ranges(prof: profile) -> list[FunctionEvent]:
    """Those on the host; a range with kernels in it is shown on the device as well."""
    host = torch.autograd.DeviceType.CPU
    return [event for event in prof.events() if event.is_user_annotation and event.device_type == host]


def names(prof: profile) -> list[str]:
    return [event.name for event in ranges(prof)]


def test_nvtx() -> None:
    assert [nvtx.range_push("outer"), nvtx.range_push("inner")] == [0, 1]
    assert nvtx.mark("now") is None
    assert [nvtx.range_pop(), nvtx.range_pop()] == [1, 0]
    assert nvtx.range_pop() < 0
    assert torch.cuda.nvtx is nvtx


def test_depth_is_the_threads_own() -> None:
    nvtx.range_push("here")
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend([nvtx.range_pop(), nvtx.range_push("there")]))
    thread.start()
    thread.join()
    assert found[0] < 0 and found[1] == 0
    assert nvtx.range_pop() == 0


def test_ranges_between_threads() -> None:
    first, second = nvtx.range_start("one"), nvtx.range_start("two")
    assert isinstance(first, int) and 0 != first != second
    thread = threading.Thread(target=nvtx.range_end, args=(first,))
    thread.start()
    thread.join()
    nvtx.range_end(second)
    assert nvtx.range_push("a stack of its own") == 0


def test_range_is_a_context_manager_and_a_decorator() -> None:
    @nvtx.range("step {}, {name}", 3, name="x")
    def step() -> int:
        return nvtx.range_push("inside")

    with nvtx.range("outer"):
        assert step() == 2  # below "outer" and "step"
    with pytest.raises(ValueError, match="inside"), nvtx.range("failing"):
        raise ValueError("inside")
    nvtx.range_pop()
    assert nvtx.range_pop() < 0


def test_ranges_on_a_stream() -> None:
    if not hasattr(nvtx, "_device_range_start"):
        pytest.skip("this torch has no ranges of the device")
    handle = nvtx._device_range_start("kernel", stream=0)
    assert handle
    nvtx._device_range_end(handle, stream=0)


@pytest.mark.parametrize("call", [nvtx.range_push, nvtx.range_start, nvtx.mark])
def test_messages_are_strings(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="expected a str"):
        call(3)
    assert nvtx.range_pop() < 0


def test_ranges_appear_in_a_trace() -> None:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        with nvtx.range("outer"):
            nvtx.range_push("inner")
            torch.ones(4, device="cuda") @ torch.ones(4, device="cuda")
            nvtx.range_pop()
        nvtx.mark("here")
    assert names(prof) == ["outer", "inner", "here"]
    outer, inner, here = ranges(prof)
    assert inner.cpu_parent is outer and here.cpu_parent is None
    assert inner.device_time_total > 0


def test_ranges_across_the_ends_of_a_trace() -> None:
    nvtx.range_push("before")
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        nvtx.range_pop()
        nvtx.range_push("open")
    assert nvtx.range_pop() == 0
    assert "before" not in names(prof)


def test_emit_nvtx() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    with emit_nvtx(record_shapes=True) as context:
        assert isinstance(context, emit_nvtx)
        (x * 2).sum().backward()
        with pytest.raises(RuntimeError, match="not reentrant"):
            context.__enter__()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]
    with emit_nvtx(enabled=False) as nothing:
        assert nothing is None
    with pytest.raises(ValueError, match="inside"), torch.cuda.profiler.profile(), emit_nvtx():
        raise ValueError("inside")


def with_range(x: torch.Tensor) -> torch.Tensor:
    with nvtx.range("step {}", 1):
        return x + 1


def with_push(x: torch.Tensor) -> torch.Tensor:
    nvtx.range_push("step")
    y = x + 1
    nvtx.range_pop()
    return y


def with_mark(x: torch.Tensor) -> torch.Tensor:
    nvtx.mark("step")
    return x + 1


@pytest.mark.parametrize("step", [with_range, with_push, with_mark])
def test_compiled(step: Callable[[torch.Tensor], torch.Tensor]) -> None:
    torch._dynamo.reset()
    compiled: Callable[..., Any] = torch.compile(step, backend="eager")
    x = torch.ones(2, device="cuda")
    assert [compiled(x).tolist(), compiled(x).tolist()] == [[2.0, 2.0]] * 2
    assert nvtx.range_pop() < 0
    torch._dynamo.reset()


def test_undone(musa: Interpreter) -> None:
    found = musa.json(
        """
        import json, torch, torchada
        from torch.cuda import nvtx
        def library():
            return type(nvtx._nvtx).__module__.partition(".")[0]
        applied = [nvtx.range_push("a"), library()]
        torchada.disable()
        print(json.dumps([applied, library()]))
    """,
        forked=True,
    )
    assert found[0] == [0, "torchada"] and found[1] in ("torch", "builtins")  # without CUDA's library, torch's stand-in
