"""torch.musa.Stream, Event and graphs."""

# ruff: noqa: E402

from __future__ import annotations

import copy

import pytest

import musasim

musasim.install()

import torch
import torch_musa

from musasim.base import release
from support.plain_torch import plain_torch  # noqa: F401

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def first_device():
    torch.musa.set_device(0)


def test_default_stream() -> None:
    stream = torch.musa.default_stream()
    assert stream.musa_stream == 0 and stream == torch.musa.current_stream()
    assert repr(stream) == "torch_musa.Stream device=musa:0 musa_stream=0x0"
    assert torch.musa.default_stream(1) != stream and torch.musa.default_stream("musa:1").device.index == 1
    assert isinstance(stream, torch.Stream) and not hasattr(stream, "cuda_stream")


def test_new_streams() -> None:
    one, other = torch.musa.Stream(), torch.musa.Stream(device=1)
    assert one.musa_stream != 0 and (one.device_index, other.device_index) == (0, 1)
    same = torch.musa.Stream(stream_id=one.stream_id, device_index=one.device_index, device_type=one.device_type)
    assert same == one and hash(same) == hash(one) and len({same, one, other}) == 2
    assert one != "something else" and one.device_type == 20
    assert one._as_parameter_.value == one.musa_stream


def test_ids_of_streams_are_those_of_torch_musa() -> None:
    """A bit for the pool, four for the priority, from 1 on, and the place in the pool above."""
    ordinary, urgent = torch.musa.Stream(), torch.musa.Stream(priority=-1)
    assert (ordinary.stream_id & 31, urgent.stream_id & 31) == (0b00011, 0b00101)
    assert torch.musa.Stream().stream_id >> 5 == ((ordinary.stream_id >> 5) + 1) % 32
    nobody = torch.Stream(stream_id=0b11111, device_index=0, device_type=20)
    with pytest.raises(RuntimeError, match="invalid stream id 31"):
        nobody.query()
    lowest, greatest = torch.musa.Stream.priority_range()
    assert lowest == 0 and -3 <= greatest <= -1
    assert torch.musa.Stream(priority=greatest).priority == greatest


def test_pool_of_32_is_reused_in_turn() -> None:
    first = torch.musa.Stream()
    handles = [torch.musa.Stream().musa_stream for _ in range(32)]
    assert len(set(handles)) == 32 and handles[-1] == first.musa_stream


def test_external_stream() -> None:
    runtime = torch.musa.musart()
    import ctypes

    handle = ctypes.c_void_p()
    torch.musa.check_error(runtime.musaStreamCreate(ctypes.addressof(handle)))
    external = torch.musa.ExternalStream(handle.value, device=0)
    assert external.musa_stream == handle.value and isinstance(external, torch.musa.Stream)
    with torch.musa.stream(external):
        assert torch.musa.current_stream() == external
    torch.musa.check_error(runtime.musaStreamDestroy(handle.value))


def test_stream_block_switches_device_and_comes_back() -> None:
    stream = torch.musa.Stream(device=1)
    with torch.musa.stream(stream):
        assert torch.musa.current_device() == 1 and torch.musa.current_stream() == stream
        assert torch.ones(1, device="musa").device.index == 1
    assert torch.musa.current_device() == 0
    assert torch.musa.current_stream(1) == torch.musa.default_stream(1)
    with torch.musa.stream(None):
        assert torch.musa.current_stream() == torch.musa.default_stream()


def test_event_exists_on_the_device_once_recorded() -> None:
    event = torch.musa.Event()
    assert event.musa_event == 0 and event.device is None and event.query()
    assert repr(event) == "<torch_musa.Event uninitialized>"
    event.record()
    assert event.musa_event != 0 and event.device.index == 0 and repr(event).startswith("<torch_musa.Event 0x")
    event.synchronize()
    assert isinstance(event, torch.Event)


@pytest.mark.parametrize("name", ["enable_timing", "blocking", "interprocess"])
def test_an_events_options_are_numbers_of_a_byte(name: str) -> None:
    for wrong, kind in (
        ("x", TypeError),
        (1.5, TypeError),
        (None, TypeError),
        (256, OverflowError),
        (-1, OverflowError),
    ):
        with pytest.raises(kind):
            torch.musa.Event(**{name: wrong})
    torch.musa.Event(**{name: 2})


def test_time_between_events() -> None:
    start, end = (torch.musa.Event(enable_timing=True) for _ in range(2))
    start.record()
    torch.musa._sleep(20_000_000)
    end.record()
    assert not end.query()
    end.synchronize()
    assert end.query() and start.elapsed_time(end) > 15


def test_elapsed_time_needs_two_recorded_events() -> None:
    start, end = (torch.musa.Event(enable_timing=True) for _ in range(2))
    start.record()
    with pytest.raises(RuntimeError, match="Both events must be recorded before calculating elapsed time"):
        start.elapsed_time(end)
    torch.musa._sleep(100_000_000)
    end.record()
    with pytest.raises(RuntimeError, match="MUSA error: device not ready"):
        start.elapsed_time(end)
    plain, elsewhere = torch.musa.Event(), torch.musa.Event(enable_timing=True)
    plain.record()
    with torch.musa.device(1):
        elsewhere.record()
    for other in (plain, elsewhere):
        with pytest.raises(RuntimeError, match="MUSA error: invalid resource handle"):
            start.elapsed_time(other)


def test_waiting() -> None:
    ahead, behind = torch.musa.Stream(), torch.musa.Stream()
    with torch.musa.stream(ahead):
        torch.musa._sleep(20_000_000)
    behind.wait_stream(ahead)
    assert not behind.query()
    behind.synchronize()
    assert behind.query()
    event = ahead.record_event()
    behind.wait_event(event)
    event.wait()
    torch.musa.synchronize()


def test_record_stream() -> None:
    tensor = torch.ones(4, device="musa")
    tensor.record_stream(torch.musa.Stream())


# --- graphs ---------------------------------------------------------------------------------------------------------


def test_graph_replays_into_its_tensors() -> None:
    source = torch.zeros(3, device="musa")
    graph = torch.musa.MUSAGraph()
    assert not torch.musa.is_current_stream_capturing()
    with torch.musa.graph(musa_graph=graph):
        assert torch.musa.is_current_stream_capturing()
        result = source * 2 + 1
    source.fill_(5)
    graph.replay()
    torch.musa.synchronize()
    assert result.tolist() == [11, 11, 11]
    assert len(graph.pool()) == 2 and any(each is graph for each in torch.musa.MUSAGraph.get_latest_instance())
    torch.musa.update_musa_graph_with_profile()
    graph.reset()


def test_graphs_share_a_pool() -> None:
    pool = torch.musa.graph_pool_handle()
    graphs = [torch.musa.MUSAGraph() for _ in range(2)]
    for graph in graphs:
        with torch.musa.graph(graph, pool=pool, stream=torch.musa.Stream(), capture_error_mode="thread_local"):
            torch.zeros(2, device="musa").add_(1)
    assert graphs[0].pool() == graphs[1].pool() == pool


def test_graph_refuses_an_unknown_mode() -> None:
    with (
        pytest.raises((RuntimeError, ValueError), match="mode"),
        torch.musa.graph(torch.musa.MUSAGraph(), capture_error_mode="other"),
    ):
        pass


# The simulator's recording keeps tensors alive, and with them the nodes that this warning concerns.
@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream does not match")
def test_graphed_module_trains_like_the_plain_one() -> None:
    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).musa()
    graphed = torch.musa.make_graphed_callables(copy.deepcopy(plain), (torch.randn(5, 4, device="musa"),))
    for _ in range(3):
        batch = torch.randn(5, 4, device="musa")
        losses = [model(batch).square().sum() for model in (plain, graphed)]
        torch.testing.assert_close(*losses)
        for model, loss in zip((plain, graphed), losses):
            model.zero_grad()
            loss.backward()
        for one, other in zip(plain.parameters(), graphed.parameters()):
            torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.full
def test_graphed_callables_in_a_tuple() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def split(x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"more": x + 1, "less": x - 1}

    sample = torch.ones(2, device="musa", requires_grad=True)
    first, second = torch.musa.make_graphed_callables((double, split), ((sample,), (sample.detach().requires_grad_(),)))
    x = torch.full((2,), 3.0, device="musa", requires_grad=True)
    out = second(first(x))
    assert out["more"].tolist() == [7, 7] and out["less"].tolist() == [5, 5]
    (out["more"] + out["less"]).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_graphed_callables_refuse_hooks_and_autocast_cache() -> None:
    module = torch.nn.Linear(2, 2).musa()
    module.register_forward_hook(lambda *_: None)
    sample = (torch.ones(1, 2, device="musa"),)
    with pytest.raises(AssertionError, match="hooks"):
        torch.musa.make_graphed_callables(module, sample)
    with torch.autocast("musa"), pytest.raises(RuntimeError, match="autocast caching"):
        torch.musa.make_graphed_callables(torch.nn.Linear(2, 2).musa(), sample)


def test_graphed_callables_without_gradients() -> None:
    """torch_musa 2.7.1 asks autograd for gradients of nothing, where later releases and torch.cuda record no backward."""
    module, sample = torch.nn.Linear(2, 2).musa().requires_grad_(False), torch.ones(1, 2, device="musa")
    if not release.since("2.9.1"):
        with pytest.raises((RuntimeError, ValueError), match="empty"):
            torch.musa.make_graphed_callables(module, (sample,))
        return
    expected = module(sample)
    torch.testing.assert_close(torch.musa.make_graphed_callables(module, (sample,))(sample), expected)


def test_graphed_callables_without_a_run_before() -> None:
    sample = torch.ones(2, device="musa", requires_grad=True)
    if not release.since("2.9.1"):
        with pytest.raises(UnboundLocalError, match="outputs"):
            torch.musa.make_graphed_callables(lambda x: x * 2, (sample,), num_warmup_iters=0)
        return
    double = torch.musa.make_graphed_callables(lambda x: x * 2, (sample,), num_warmup_iters=0)
    assert double(torch.ones(2, device="musa")).tolist() == [2, 2]


def test_graphed_modules_take_no_arguments_by_name() -> None:
    """Not in the recorded mode, as in torch.cuda, and in torch_musa 2.7.1 in no mode."""
    sample = torch.ones(1, 2, device="musa")
    module = torch.musa.make_graphed_callables(torch.nn.Linear(2, 2).musa(), (sample,))
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        module(input=sample)
    module.eval()
    if release.since("2.9.1"):
        assert module(input=sample).shape == (1, 2)
    else:
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            module(input=sample)


def test_submodule_names() -> None:
    assert torch.musa.graphs is torch_musa.musa_graph.graphs
