"""torch.cuda._gpu_trace reports what happens on the device, so torch.cuda's sanitizer finds races between streams."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

CALLBACKS = """
import torch
import torch.cuda._gpu_trace as trace

torch._C._activate_gpu_trace()
seen = []
for name in ("event_creation", "event_deletion", "event_record", "event_wait", "memory_allocation", "memory_deallocation",
             "device_synchronization", "stream_synchronization", "event_synchronization"):
    add = getattr(trace, "register_callback_for_" + name)
    add(lambda *handles, name=name: seen.append((name, *handles)))
"""

RACE = """
import torch
import torch.cuda._sanitizer as sanitizer

sanitizer.enable_cuda_sanitizer()
a = torch.rand(4, 2, device="cuda")
stream = torch.cuda.Stream()
{order}
with torch.cuda.stream(stream):
    try:
        torch.mul(a, 5, out=a)
    except sanitizer.CUDASanitizerErrors as errors:
        print("race", len(errors.errors), *(name in str(errors.errors[0]) for name in ("aten::mul.out", "aten::rand")))
    else:
        print("none")
"""


def test_each_thing_that_happens_is_reported_with_its_handle(musa: Interpreter) -> None:
    code = """
    x = torch.empty(10, device="cuda")
    address = x.data_ptr()
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    event.record(stream)
    handle = event.cuda_event
    event.wait(stream)
    event.synchronize()
    stream.synchronize()
    torch.cuda.synchronize()
    del x, event
    number = stream.cuda_stream
    assert seen == [
        ("memory_allocation", address),
        ("event_creation", handle),
        ("event_record", handle, number),
        ("event_wait", handle, number),
        ("event_synchronization", handle),
        ("stream_synchronization", number),
        ("device_synchronization",),
        ("memory_deallocation", address),
        ("event_deletion", handle),
    ], seen
    """
    musa.run(CALLBACKS + "\n".join(line[4:] for line in code.splitlines()), forked=True)


def test_reading_a_value_synchronizes_its_stream(musa: Interpreter) -> None:
    musa.run(
        CALLBACKS + "torch.ones((), device='cuda').item()\n"
        "assert [each for each in seen if 'synchronization' in each[0]] == [('stream_synchronization', 0)], seen\n",
        forked=True,
    )


def test_the_streams_of_a_device_are_reported_when_the_first_is_asked_for(musa: Interpreter) -> None:
    """As a pool, which torch_musa makes as a whole."""
    code = """
    import torch
    import torch.cuda._gpu_trace as trace
    torch._C._activate_gpu_trace()
    made = []
    trace.register_callback_for_stream_creation(made.append)
    torch.zeros(2, device="cuda") + 1
    assert not made
    streams = [torch.cuda.Stream(priority=priority) for priority in (0, -1, 0)]
    first = len(made)
    assert len({stream.cuda_stream for stream in streams} & set(made)) == 3
    other = torch.cuda.Stream("cuda:1")
    assert len(set(made)) == len(made) == 2 * first and other.cuda_stream in made[first:]
    """
    musa.run(code, forked=True)


@pytest.mark.parametrize(
    ("order", "found"),
    [("", "race 1 True True"), ("stream.wait_stream(torch.cuda.current_stream())", "none")],
    ids=["unordered", "ordered"],
)
def test_the_sanitizer_finds_a_race_between_two_streams(musa: Interpreter, order: str, found: str) -> None:
    done = musa.run(RACE.format(order=order), forked=True)
    assert done.stdout.strip() == found
    assert ("possible data race" in done.stderr) == (found != "none")


@pytest.mark.full
def test_the_sanitizer_can_be_switched_on_by_its_variable(musa: Interpreter) -> None:
    code = """
    import torch
    a = torch.rand(4, 2, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        try:
            a.add_(1)
        except Exception as error:
            print(type(error).__name__)
    """
    assert musa.run(code, env={"TORCH_CUDA_SANITIZER": "1"}, forked=True).stdout.strip() == "CUDASanitizerErrors"


@pytest.mark.full
def test_an_adapter_may_compute_while_it_is_imported(musa: Interpreter) -> None:
    """The vendor's does. The sanitizer, which is on by then, would ask for the stream of a device that is not there yet."""
    code = """
    import sys

    class Computing:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.startswith("torch_musa."):
                torch = sys.modules["torch"]
                torch.ones(2).add_(1)
                computed.append(torch._C._len_torch_dispatch_stack())

    computed = []
    sys.meta_path.insert(0, Computing)
    import torch
    a = torch.rand(4, 2, device="cuda")
    print(set(computed), torch._C._len_torch_dispatch_stack())
    """
    assert musa.run(code, env={"TORCH_CUDA_SANITIZER": "1"}).stdout.strip() == "{0} 1"
