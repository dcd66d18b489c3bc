"""Graphs on streams that nothing orders run at the same time, as on a device: an operation of each in turns."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Any

import pytest

from support import fresh_process

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch", reason="needs torch")

pytestmark = [pytest.mark.musa, pytest.mark.once]


@pytest.fixture
def musa(torch_musa: Any) -> Any:
    gc.collect()
    torch_musa.synchronize()
    return torch_musa


def capture(musa: Any, body: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    graph = musa.MUSAGraph()
    with musa.graph(graph, **options):
        result = body()
    return graph, result


def replay_on(musa: Any, stream: Any, graph: Any) -> None:
    with musa.stream(stream):
        graph.replay()


class Mirror:
    """A graph that adds one to a number and copies it to memory of the host, which can be read without asking the device."""

    def __init__(self, musa: Any) -> None:
        self.number, self.host = torch.zeros(1, device="musa"), torch.zeros(1).pin_memory()

        def body() -> None:
            self.number.add_(1)
            self.host.copy_(self.number, non_blocking=True)

        self.graph, _ = capture(musa, body)
        musa.synchronize()

    @property
    def seen(self) -> float:
        return float(self.host.item())


def sums(musa: Any, *, shared: bool, ordered: bool) -> tuple[float, float]:
    """Of the results of two graphs on two streams, as PyTorch's test_graph_concurrent_replay makes them."""
    a, size = torch.ones(1000, device="musa"), 1000

    def with_temporaries(step: int) -> Any:
        x = a.clone()
        for _ in range(5):
            y, z = x.clone() + step, x.clone() + step
            x = y + z
        return x

    first, b = capture(musa, lambda: with_temporaries(1))
    second, c = capture(musa, lambda: with_temporaries(2), **({"pool": first.pool()} if shared else {}))
    streams = musa.Stream(), musa.Stream()
    musa.synchronize()
    replay_on(musa, streams[0], first)
    if ordered:
        streams[1].wait_stream(streams[0])
    replay_on(musa, streams[1], second)
    for stream in streams:
        musa.current_stream().wait_stream(stream)
    return b.sum().item() / size, c.sum().item() / size


@pytest.mark.full
def test_graphs_of_one_pool_disturb_each_other_unless_something_orders_them(musa: Any) -> None:
    right = (94, 156)
    assert sums(musa, shared=False, ordered=False) == right
    assert sums(musa, shared=True, ordered=True) == right
    first, second = sums(musa, shared=True, ordered=False)
    assert first != right[0] and second != right[1]


def test_operations_of_two_graphs_run_in_turns(musa: Any) -> None:
    x, seen = torch.zeros(1, device="musa"), torch.zeros(2, device="musa")

    def adds(step: int, place: int) -> Callable[[], None]:
        def body() -> None:
            x.add_(step)
            seen[place].copy_(x[0])

        return body

    graphs = [capture(musa, adds(1, 0))[0], capture(musa, adds(10, 1))[0]]
    for order in (True, False):
        x.zero_()
        streams = musa.Stream(), musa.Stream()
        musa.synchronize()
        replay_on(musa, streams[0], graphs[0])
        if order:
            streams[1].wait_event(streams[0].record_event())
        replay_on(musa, streams[1], graphs[1])
        assert seen.tolist() == ([1, 11] if order else [11, 11])


def test_a_graph_does_not_run_beside_itself(musa: Any) -> None:
    x = torch.zeros(1, device="musa")
    graph, _ = capture(musa, lambda: x.copy_((x + 1) * 2))
    for stream in (musa.Stream(), musa.Stream(), musa.Stream()):
        replay_on(musa, stream, graph)
    assert x.item() == 14


def test_launches_of_a_stream_keep_their_order(musa: Any) -> None:
    x, stream = torch.ones(1, device="musa"), musa.Stream()
    graphs = [capture(musa, lambda: x.add_(1))[0], capture(musa, lambda: x.mul_(3))[0]]
    for graph in (*graphs, *graphs):
        replay_on(musa, stream, graph)
    assert x.item() == 21


@pytest.mark.full
@pytest.mark.parametrize(
    "look",
    [
        lambda musa, stream: stream.synchronize(),
        lambda musa, stream: stream.query(),
        lambda musa, stream: stream.record_event(),
        lambda musa, stream: musa.synchronize(),
        lambda musa, stream: musa.empty_cache(),
        lambda musa, stream: torch.empty(1, device="musa"),
        lambda musa, stream: torch.zeros(1, device="musa"),
        lambda musa, stream: torch.ones(1).to("musa"),
        lambda musa, stream: capture(musa, lambda: None),
    ],
)
@pytest.mark.filterwarnings("ignore:The MUSA Graph is empty")
def test_a_launch_runs_before_what_could_see_it(musa: Any, look: Callable[[Any, Any], Any]) -> None:
    mirror, stream = Mirror(musa), musa.Stream()
    replay_on(musa, stream, mirror.graph)
    assert mirror.seen == 0
    look(musa, stream)
    assert mirror.seen == 1


def test_events_and_queries_of_other_streams_leave_it_waiting(musa: Any) -> None:
    mirror, stream, other = Mirror(musa), musa.Stream(), musa.Stream()
    before = stream.record_event()
    replay_on(musa, stream, mirror.graph)
    event = other.record_event()
    event.synchronize()
    other.synchronize()
    other.wait_event(before)
    assert before.query() and other.query() and mirror.seen == 0
    stream.synchronize()
    assert mirror.seen == 1


def test_the_default_stream_waits_for_nothing(musa: Any) -> None:
    mirror, waiting = Mirror(musa), Mirror(musa)
    replay_on(musa, musa.default_stream(), mirror.graph)
    assert mirror.seen == 1
    replay_on(musa, musa.Stream(), waiting.graph)
    replay_on(musa, musa.default_stream(), mirror.graph)
    assert (mirror.seen, waiting.seen) == (2, 1)


def test_a_graph_that_draws_takes_the_numbers_of_its_launch(musa: Any) -> None:
    graph, numbers = capture(musa, lambda: torch.rand(5, device="musa"))
    drawn = []
    for _ in range(2):
        musa.manual_seed(4)
        replay_on(musa, musa.Stream(), graph)
        musa.manual_seed(9)
        drawn.append(numbers.clone())
        assert musa.default_generators[0].get_offset() == 0
    assert torch.equal(*drawn)


def test_an_error_is_raised_by_the_call_that_lets_the_launch_run(musa: Any) -> None:
    x, index = torch.arange(4.0, device="musa"), torch.zeros(1, dtype=torch.long, device="musa")
    broken, y = capture(musa, lambda: x.gather(0, index) + 1)
    mirror, streams = Mirror(musa), (musa.Stream(), musa.Stream())
    index.fill_(99)
    musa.synchronize()
    replay_on(musa, streams[0], broken)
    replay_on(musa, streams[1], mirror.graph)
    with pytest.raises((RuntimeError, IndexError), match="out of bounds"):
        streams[0].synchronize()
    assert mirror.seen == 1  # the other graph has run
    index.fill_(3)
    replay_on(musa, streams[0], broken)
    assert y.tolist() == [4]


def test_what_a_graph_was_is_kept_until_it_has_run(musa: Any) -> None:
    mirror, stream = Mirror(musa), musa.Stream()
    replay_on(musa, stream, mirror.graph)
    mirror.graph.reset()
    stream.synchronize()
    assert mirror.seen == 1


def test_a_launch_does_not_get_into_a_capture(musa: Any) -> None:
    """Neither one from before it nor one of another thread meanwhile."""
    mirror, other, x = Mirror(musa), Mirror(musa), torch.zeros(1, device="musa")
    replay_on(musa, musa.Stream(), mirror.graph)
    graph, inside = musa.MUSAGraph(), threading.Thread(target=replay_on, args=(musa, musa.Stream(), other.graph))
    with musa.graph(graph, capture_error_mode="thread_local"):
        inside.start()
        inside.join()
        x.add_(1)
    assert (mirror.seen, other.seen, x.item()) == (1, 1, 0)
    for _ in range(2):
        graph.replay()
    assert (mirror.seen, other.seen, x.item()) == (1, 1, 2)


def test_a_launch_keeps_the_stream_and_the_modes_of_its_thread(musa: Any) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    x, stream = torch.ones(2, device="musa"), musa.Stream()
    graph, y = capture(musa, lambda: torch.stack([x, x * 2]).sum(0))
    with torch.inference_mode():
        replay_on(musa, stream, graph)
    with FakeTensorMode():
        torch.ones(2) + 1
        stream.synchronize()
    x.fill_(2)
    assert y.tolist() == [3, 3]


@pytest.mark.parametrize("times", [200])
def test_threads_with_graphs_and_operators(musa: Any, times: int) -> None:
    """Each thread sees its own launches, whichever thread lets them run, and no thread waits for ever for another."""
    graphs = [Mirror(musa) for _ in range(4)]
    wrong: list[float] = []

    def work(mirror: Mirror) -> None:
        stream, one = musa.Stream(), torch.ones(1, device="musa")
        for count in range(1, times + 1):
            with musa.stream(stream):
                mirror.graph.replay()
                event = stream.record_event() if count % 3 == 0 else None
                if count % 3 == 1:
                    (one + 1).item()
                elif event is not None:
                    event.synchronize()
                else:
                    stream.synchronize()
            if mirror.seen != count:
                wrong.append(count)

    threads = [threading.Thread(target=work, args=(mirror,)) for mirror in graphs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads) and not wrong
    assert [mirror.number.item() for mirror in graphs] == [times] * 4


def test_another_thread_waits_without_the_interpreter_lock(musa: Any) -> None:
    """An operation of a graph may need that lock, as those of Triton do, while another thread asks for what the graph does."""
    calls: list[int] = []
    library: Any = torch.library.Library("graph_launches", "FRAGMENT")
    library.define("slow(Tensor(a!) x) -> ()")

    def slow(x: Any) -> None:
        for _ in range(50):
            threading.Event().wait(0.001)  # gives the lock away
        calls.append(1)

    library.impl("slow", slow, "CPU")
    x = torch.zeros(1, device="musa")
    graph, _ = capture(musa, lambda: torch.ops.graph_launches.slow(x))
    calls.clear()
    replay_on(musa, musa.Stream(), graph)
    threads = [threading.Thread(target=lambda: torch.zeros(1, device="musa") + 1) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads) and calls == [1]


_MIRROR = """
import atexit, torch, torch_musa
number, host = torch.zeros(1, device="musa"), torch.zeros(1).pin_memory()
graph = torch.musa.MUSAGraph()
with torch.musa.graph(graph):
    number.add_(1)
    host.copy_(number, non_blocking=True)
torch.musa.synchronize()
with torch.musa.stream(torch.musa.Stream()):
    graph.replay()
print(host.item())
"""


def test_launch_blocking_lets_nothing_wait() -> None:
    assert fresh_process.run(_MIRROR, MUSA_LAUNCH_BLOCKING="1").split() == ["1.0"]


def test_what_still_waits_when_the_program_ends_runs() -> None:
    code = "import atexit\natexit.register(lambda: print(host.item()))" + _MIRROR
    assert fresh_process.run(code, forked=False).split() == ["0.0", "1.0"]


@pytest.mark.full
def test_a_child_that_is_forked_runs_none(musa: Any) -> None:
    done = fresh_process.run(
        _MIRROR
        + """
import os, warnings
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    try:
        torch.musa.synchronize()
    except RuntimeError as error:
        print("forked" in str(error), host.item(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
torch.musa.synchronize()
print(host.item())
"""
    )
    assert done.split() == ["0.0", "True", "0.0", "1.0"]
