"""Captured graphs: what is recorded, what a replay does, and what is not allowed while capturing."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

from musasim.base import release
from support import fresh_process
from support.interpreter import TORCH
from support.own_kernels import own_kernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

torch = pytest.importorskip("torch", reason="needs torch")

pytestmark = [pytest.mark.musa, pytest.mark.once]

#: A state of the generator: seed 3, offset 0.
STATE = torch.tensor([3, *[0] * 15], dtype=torch.uint8)


@pytest.fixture
def musa(torch_musa: Any) -> Any:
    gc.collect()
    return torch_musa


def capture(musa: Any, body: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    graph = musa.MUSAGraph()
    with musa.graph(graph, **options):
        result = body()
    return graph, result


def test_a_replay_sees_new_inputs_and_fills_the_same_result(musa: Any) -> None:
    x = torch.ones(4, device="musa")
    graph, y = capture(musa, lambda: (x * 3).relu() + 1)
    address = y.data_ptr()
    for value in (2.0, -1.0):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [max(value * 3, 0) + 1] * 4 and y.data_ptr() == address


def test_capturing_runs_nothing(musa: Any) -> None:
    counter, buffer = torch.zeros(1, device="musa"), torch.zeros(2, 3, device="musa")

    def body() -> None:
        counter.add_(1)
        buffer.t()[1].copy_(counter.expand(2))

    graph, _ = capture(musa, body)
    assert counter.item() == 0 and buffer.sum().item() == 0
    graph.replay()
    graph.replay()
    assert counter.item() == 2 and buffer.tolist() == [[0, 2, 0], [0, 2, 0]]


def test_a_capture_leaves_the_running_statistics_of_a_normalisation_as_they_were(musa: Any) -> None:
    norm, x = torch.nn.BatchNorm1d(2).to("musa"), torch.full((3, 2), 10.0, device="musa")
    graph, _ = capture(musa, lambda: norm(x))
    assert norm.running_mean.tolist() == [0, 0] and norm.running_var.tolist() == [1, 1]
    graph.replay()
    assert norm.running_mean.tolist() == [1, 1] and norm.num_batches_tracked.item() == 1


def test_memory_of_the_capture_itself_keeps_what_was_written(musa: Any) -> None:
    """Another capture may go on with it: a backward needs the indices that its forward has made."""
    graph, index = capture(musa, lambda: torch.arange(4, device="musa").view(-1, 1).repeat(1, 2))
    assert index.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    index.fill_(9)
    graph.replay()
    assert index.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_random_numbers_differ_between_replays_and_repeat_with_the_seed(musa: Any) -> None:
    graph, numbers = capture(musa, lambda: torch.rand(5, device="musa"))
    drawn = []
    for seed in (1, None, 1):
        if seed is not None:
            torch.manual_seed(seed)
        graph.replay()
        drawn.append(numbers.clone())
    assert torch.equal(drawn[0], drawn[2]) and not torch.equal(drawn[0], drawn[1])


def test_a_training_step(musa: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.0), torch.nn.Linear(8, 1)).to("musa")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    given = torch.randn(16, 4, device="musa")
    before = model[0].weight.detach().clone()

    def step() -> Any:
        loss = model(given).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    graph, loss = capture(musa, step)
    assert torch.equal(model[0].weight, before)
    losses = []
    for _ in range(5):
        graph.replay()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


def _draw(x: torch.Tensor, replacement: bool = False) -> torch.Tensor:
    drawn: torch.Tensor = own_kernel(torch.ops.aten.multinomial.default, x, 1, replacement)
    return drawn


@pytest.mark.full
@pytest.mark.parametrize(
    "forbidden",
    [
        lambda musa, x: x.sum().item(),
        lambda musa, x: x.cpu(),
        lambda musa, x: x.nonzero(),
        lambda musa, x: torch.ones(2).to("musa"),
        lambda musa, x: musa.synchronize(),
        lambda musa, x: _draw(x),
        lambda musa, x: musa.current_stream().synchronize(),
        lambda musa, x: musa.current_stream().query(),
        lambda musa, x: musa.current_stream().record_event().synchronize(),
    ],
)
def test_operations_that_need_the_host_are_refused_in_a_capture(
    musa: Any, forbidden: Callable[[Any, Any], Any]
) -> None:
    x = torch.ones(2, device="musa")
    graph = musa.MUSAGraph()
    with pytest.raises(RuntimeError, match="previous error during capture") as caught, musa.graph(graph):
        forbidden(musa, x)
    assert "operation not permitted" in str(caught.value.__context__)
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    assert (x + 1).tolist() == [2, 2]  # the device still works


def test_pinned_copies_are_recorded(musa: Any) -> None:
    host = torch.zeros(3).pin_memory()
    x = torch.zeros(3, device="musa")

    def body() -> None:
        x.copy_(host, non_blocking=True)

    graph, _ = capture(musa, body)
    host.fill_(4)
    graph.replay()
    assert x.tolist() == [4, 4, 4]


def test_a_stream_joins_by_waiting_for_an_event(musa: Any) -> None:
    x, side = torch.ones(2, device="musa"), musa.Stream()

    def body() -> Any:
        side.wait_stream(musa.current_stream())
        with musa.stream(side):
            assert musa.is_current_stream_capturing()
            y = x * 2
        musa.current_stream().wait_stream(side)
        return y + 1

    graph, y = capture(musa, body)
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [11, 11]
    with musa.stream(side):
        assert not musa.is_current_stream_capturing()


def test_the_default_stream_cannot_be_captured(musa: Any) -> None:
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        musa.MUSAGraph().capture_begin()


def test_the_default_stream_cannot_wait_for_a_capture(musa: Any) -> None:
    x = torch.ones(2, device="musa")
    with pytest.raises(RuntimeError, match="previous error during capture") as caught, musa.graph(musa.MUSAGraph()):
        musa.default_stream().wait_stream(musa.current_stream())
    assert "would make the legacy stream depend on a capturing" in str(caught.value.__context__)
    graph, y = capture(musa, lambda: x + 1)
    musa.default_stream().wait_stream(musa.Stream())
    graph.replay()
    assert y.tolist() == [2, 2], "nothing of the capture that failed is left"


def test_a_graph_has_a_pool_once_it_is_captured(musa: Any) -> None:
    graph = musa.MUSAGraph()
    with musa.graph(graph):
        torch.ones(2, device="musa")
        with pytest.raises(RuntimeError, match="without a preceding successful capture"):
            graph.pool()
    assert graph.pool() != (0, 0)
    for begin, error in (((3, 4), "INTERNAL ASSERT FAILED"), (None, "cannot be performed in the present state")):
        with musa.stream(musa.Stream()), pytest.raises(RuntimeError, match=error):
            musa.MUSAGraph().capture_begin(begin) if begin else musa.MUSAGraph().capture_end()


def test_two_captures_do_not_share_a_pool_at_the_same_time(musa: Any) -> None:
    pool = musa.graph_pool_handle()
    first, second = musa.MUSAGraph(), musa.MUSAGraph()
    with musa.stream(musa.Stream()):
        first.capture_begin(pool, capture_error_mode="relaxed")
        with musa.stream(musa.Stream()), pytest.raises(RuntimeError, match="already recording to mempool_id"):
            second.capture_begin(pool, capture_error_mode="relaxed")
        y = torch.ones(2, device="musa")
        first.capture_end()
    first.replay()
    assert y.tolist() == [1, 1]


LEFT = """
import gc, torch, torch_musa
graph = torch.musa.MUSAGraph()
with torch.musa.graph(graph):
    y = torch.ones(1 << 20, device="musa")
pool = graph.pool()
del graph, y
gc.collect()
torch.musa.empty_cache()
print(any(segment["segment_pool_id"] == pool for segment in torch.musa.memory_snapshot()))
"""


def test_memory_of_a_graph_of_2_7_1_stays() -> None:
    assert fresh_process.run(LEFT, MUSASIM_RELEASE="2.7.1").strip() == "True"


@pytest.mark.skipif(release.chosen() < (2, 9, 1), reason="it stays there")
def test_memory_of_a_graph_is_freed_with_it(musa: Any) -> None:
    musa.empty_cache()
    before, reserved = musa.memory_allocated(), musa.memory_reserved()
    graph, y = capture(musa, lambda: torch.ones(1 << 20, device="musa") * 2)
    numbers = 2 * 512  # the places of the generator's seed and offset
    assert musa.memory_allocated() == before + (4 << 20) + numbers  # the other tensor was given up during the capture
    pool = graph.pool()
    assert any(s["segment_pool_id"] == pool for s in musa.memory_snapshot())
    del graph, y
    gc.collect()
    musa.empty_cache()
    assert musa.memory_allocated() == before and musa.memory_reserved() == reserved


def three_in_a_row(musa: Any, *, share: bool) -> tuple[list[Any], Any, Any]:
    """Three graphs, of which the second is the last to read `c`, whose memory the third may use for its result."""
    a = torch.ones(1000, device="musa")
    stream = musa.Stream()
    graphs = [musa.MUSAGraph() for _ in range(3)]
    with musa.stream(stream):
        graphs[0].capture_begin()
        b = a.clone()
        c, d = b + 1, b + 2
        graphs[0].capture_end()
        pool = (graphs[0].pool(),) if share else ()
        graphs[1].capture_begin(*pool)
        e = c + 3
        del c
        graphs[1].capture_end()
        graphs[2].capture_begin(*pool)
        f = d + 4
        graphs[2].capture_end()
    return graphs, e, f


@pytest.mark.parametrize("share", [False, True])
def test_memory_that_is_given_up_is_used_by_later_graphs_of_the_pool(musa: Any, share: bool) -> None:
    """As PyTorch's test_graph_three_successive expects: out of their order, graphs of one pool overwrite each other's memory."""
    graphs, e, f = three_in_a_row(musa, share=share)
    for graph in graphs:
        graph.replay()
    assert (e[0].item(), f[0].item()) == (5, 7)
    for graph in (graphs[0], graphs[2], graphs[1]):
        graph.replay()
    assert (e[0].item(), f[0].item()) == (10 if share else 5, 7)


def test_a_capture_leaves_what_it_frees_as_it_was(musa: Any) -> None:
    """A graph may give up the result of an earlier one, whose memory its later work gets: on a device, only in its replay."""
    handle, box = musa.graph_pool_handle(), []
    first, _ = capture(musa, lambda: box.append(torch.full((1000,), 3.0, device="musa")), pool=handle)
    first.replay()
    address = box[0].data_ptr()

    def body() -> tuple[Any, Any]:
        doubled = box[0] * 2
        box.clear()
        return doubled, torch.full((1000,), 7.0, device="musa")

    second, (doubled, other) = capture(musa, body, pool=handle)
    second.replay()
    assert (doubled[0].item(), other[0].item()) == (6, 7) and other.data_ptr() == address


def test_a_graph_does_not_keep_memory_that_was_given_back_to_the_driver() -> None:
    done = fresh_process.run(
        """
        import torch, torch_musa
        x = torch.ones(1 << 20, device="musa")
        graph = torch.musa.MUSAGraph()
        with torch.musa.graph(graph):
            y = x + 1
        graph.replay()
        del x
        torch.musa.empty_cache()
        try:
            graph.replay()
        except RuntimeError as error:
            print(str(error).splitlines()[0])
        """
    )
    assert done.strip() == "MUSA error: an illegal memory access was encountered"


def test_graphs_may_share_a_pool(musa: Any) -> None:
    handle = musa.graph_pool_handle()
    x = torch.ones(2, device="musa")
    first, y = capture(musa, lambda: x + 1, pool=handle)
    second, z = capture(musa, lambda: y + 1, pool=handle)
    assert first.pool() == second.pool() == handle
    first.replay()
    second.replay()
    assert z.tolist() == [3, 3]


def test_unknown_capture_modes_are_refused(musa: Any) -> None:
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        capture(musa, lambda: None, capture_error_mode="lenient")
    x = torch.ones(1, device="musa")
    capture(musa, lambda: x + 1, capture_error_mode="relaxed")


def test_an_empty_graph_gets_a_warning(musa: Any) -> None:
    with pytest.warns(UserWarning, match="The MUSA Graph is empty"):
        capture(musa, lambda: None)


def test_dump_writes_a_file_and_keeps_the_executable(musa: Any, tmp_path: Path) -> None:
    x = torch.ones(2, device="musa")
    graph = musa.MUSAGraph()
    graph.enable_debug_mode()
    with musa.graph(graph):
        x.mul(2).relu()
    with pytest.warns(UserWarning, match="DEBUG: calling"):
        graph.debug_dump(str(tmp_path / "graph.dot"))
    graph.replay()
    with pytest.raises(RuntimeError):
        graph.reinstantiate_graph()  # a dump consumes the recording but keeps the executable
    text = (tmp_path / "graph.dot").read_text()
    assert "aten::mul" in text and "aten::relu" in text


@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream does not match")
def test_graphed_callables(musa: Any) -> None:
    layer = torch.nn.Linear(4, 4).to("musa")
    graphed = musa.make_graphed_callables(layer, (torch.randn(2, 4, device="musa", requires_grad=True),))
    given = torch.randn(2, 4, device="musa", requires_grad=True)
    out = graphed(given)
    out.sum().backward()
    torch.testing.assert_close(given.grad, layer.weight.detach().sum(0).expand(2, 4))


def test_torch_accelerator_graph(musa: Any) -> None:
    graph_type = getattr(torch.accelerator, "Graph", None)
    if graph_type is None:
        pytest.skip("this torch has no torch.accelerator.Graph")
    x, graph = torch.ones(2, device="musa"), graph_type()
    with musa.stream(musa.Stream()):
        graph.capture_begin()
        y = x + 1
        graph.capture_end()
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [5, 5]


def test_what_needs_the_host_waits_for_the_stream(musa: Any) -> None:
    x = torch.ones(4, device="musa")
    for waits, call in ((True, lambda: _draw(x)), (False, lambda: _draw(x, replacement=True))):
        call()
        musa.synchronize()
        musa._sleep(50_000_000)
        before = musa.current_stream().record_event()
        call()
        assert before.query() is waits
        musa.synchronize()


def test_a_nested_capture_is_refused_without_breaking_the_outer_one(musa: Any) -> None:
    x, outer, inner = torch.ones(2, device="musa"), musa.MUSAGraph(), musa.MUSAGraph()
    with musa.graph(outer):
        y = x + 1
        with pytest.raises(RuntimeError, match="Cannot register the state during capturing stage"):
            inner.capture_begin()
        del inner
        z = y * 2
    x.fill_(4)
    outer.replay()
    assert z.tolist() == [10, 10]


def test_work_of_a_side_stream_has_to_be_joined(musa: Any) -> None:
    x, side, graph = torch.ones(2, device="musa"), musa.Stream(), musa.MUSAGraph()

    def body() -> None:
        side.wait_stream(musa.current_stream())
        with musa.stream(side):
            x + 1

    with pytest.raises(RuntimeError, match="unjoined work"), musa.graph(graph):
        body()
    with musa.stream(side):
        assert (x + 1).tolist() == [2, 2]


def test_work_given_after_the_join_has_to_be_joined_again(musa: Any) -> None:
    x, side, graph = torch.ones(2, device="musa"), musa.Stream(), musa.MUSAGraph()

    def body() -> None:
        side.wait_stream(musa.current_stream())
        with musa.stream(side):
            x + 1
        musa.current_stream().wait_stream(side)
        with musa.stream(side):
            x + 2

    with pytest.raises(RuntimeError, match="unjoined work"), musa.graph(graph):
        body()


def test_work_may_be_joined_by_way_of_a_third_stream(musa: Any) -> None:
    x, one, two = torch.ones(2, device="musa"), musa.Stream(), musa.Stream()

    def body() -> Any:
        one.wait_stream(musa.current_stream())
        with musa.stream(one):
            y = x + 1
        two.wait_stream(one)
        with musa.stream(two):
            z = y * 3
        musa.current_stream().wait_stream(two)
        return z

    graph, z = capture(musa, body)
    x.fill_(2)
    graph.replay()
    assert z.tolist() == [9, 9]


def test_a_replay_takes_no_memory_of_the_device(musa: Any) -> None:
    a, b = torch.randn(64, 64, device="musa"), torch.randn(64, 64, device="musa")
    graph, out = capture(musa, lambda: torch.linalg.svd(a @ b).S.softmax(0).sort().values)
    graph.replay()
    musa.reset_peak_memory_stats()
    before = musa.memory_stats()
    for _ in range(5):
        graph.replay()
    assert musa.memory_stats() == before
    torch.testing.assert_close(out, torch.linalg.svd(a @ b).S.softmax(0).sort().values)


def test_results_of_a_replay_do_not_share_memory(musa: Any) -> None:
    """There are several results of one size, a temporary of the same size, and an argument that grows."""
    x, grown = torch.rand(50, device="musa"), torch.empty(0, device="musa")

    def body() -> Any:
        values, indices = x.double().sort()
        lowest, highest = torch.aminmax(values.reshape(1, -1), dim=1)
        torch.cumsum(x.flip(0), 0, out=grown)
        return values, indices, lowest, highest, grown * 1, x.median(), torch.var_mean(x)

    graph, found = capture(musa, body)
    for _ in range(3):
        x.uniform_()
        graph.replay()
        values, indices = x.double().sort()
        expected = (values, indices, values[:1], values[-1:], x.flip(0).cumsum(0), x.median(), torch.var_mean(x))
        torch.testing.assert_close(found, expected)


def test_number_of_executables_is_limited() -> None:
    fresh_process.run(
        """
        import torch, torch_musa
        x = torch.ones(1, device="musa")
        def captured():
            graph = torch.musa.MUSAGraph()
            with torch.musa.graph(graph):
                x + 1
            return graph
        graphs = [captured() for _ in range(3)]
        try:
            captured()
        except RuntimeError as error:
            assert "illegal memory access" in str(error)
        else:
            raise AssertionError
        torch.musa.set_stream(torch.musa.default_stream())
        graphs.pop().reset()
        graphs.append(captured())
        graphs[0].reinstantiate_graph()
        """,
        MUSASIM_GRAPH_EXECUTABLES="3",
    )


@pytest.mark.full
@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda musa: torch.manual_seed(12345), "only if new seed is the same"),
        (lambda musa: musa.set_rng_state(STATE), "set_state during MUSA graph capture"),
        (lambda musa: musa.seed(), "during MUSA graph capture"),
    ],
)
def test_the_generator_refuses_and_the_capture_goes_on(musa: Any, attempt: Callable[[Any], Any], message: str) -> None:
    musa.manual_seed(7)
    x, graph = torch.ones(2, device="musa"), musa.MUSAGraph()
    with musa.graph(graph):
        y = x + 1
        with pytest.raises(RuntimeError, match=message):
            attempt(musa)
    graph.replay()
    assert y.tolist() == [2, 2]


def test_memory_from_the_driver_is_refused_outside_the_captured_stream(musa: Any) -> None:
    musa.empty_cache()
    graph = musa.MUSAGraph()

    def body() -> None:
        with musa.stream(musa.default_stream()):
            torch.empty(64 << 20, device="musa")

    with pytest.raises(RuntimeError, match="previous error during capture") as caught, musa.graph(graph):
        body()
    assert "not permitted" in str(caught.value.__context__)


def test_a_graph_in_a_capture_is_refused(musa: Any) -> None:
    x = torch.ones(2, device="musa")
    inner, _ = capture(musa, lambda: x + 1)
    with musa.graph(musa.MUSAGraph()):
        x + 2
        with pytest.raises(NotImplementedError, match="into a capture"):
            inner.replay()


def test_masks_that_only_fill_are_recorded(musa: Any) -> None:
    x = torch.tensor([1.0, -1.0], device="musa")

    def body() -> None:
        x[x > 0] = 7.0

    graph, _ = capture(musa, body)
    graph.replay()
    assert x.tolist() == [7, -1]


def test_memory_that_another_stream_uses_waits_for_the_end_of_a_capture(musa: Any) -> None:
    main, side, graph = musa.Stream(), musa.Stream(), musa.MUSAGraph()
    with musa.graph(graph, stream=main):
        used = torch.empty(8, device="musa")
        place = used.data_ptr()
        side.wait_stream(main)
        with musa.stream(side):
            kept = used + 1
        used.record_stream(side)
        del used
        main.wait_stream(side)
        during = torch.empty(8, device="musa")
        blocks = [b for s in musa.memory_snapshot() for b in s["blocks"] if b["address"] == place]
    assert during.data_ptr() != place and kept.numel() == 8
    assert [block["state"] for block in blocks] == ["active_pending_free"]
    outside = torch.empty(8, device="musa")  # an allocation outside of captures looks for what is done
    with musa.graph(musa.MUSAGraph(), stream=main, pool=graph.pool()):
        after = torch.zeros(8, device="musa")
    assert after.data_ptr() == place and outside.data_ptr() != place


@pytest.mark.skipif(TORCH >= (2, 9), reason="later allocators give back the private pools that are not in use")
def test_the_cache_cannot_be_emptied_within_a_capture(musa: Any) -> None:
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT FAILED"), musa.use_mem_pool(musa.MemPool()):
        musa.empty_cache()
