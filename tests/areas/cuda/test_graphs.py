"""CUDA graphs: unchanged CUDA code captures and replays, and what cannot be captured says so."""

from __future__ import annotations

import copy
import gc
import inspect
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter
from torchada.redirect.unsupported import UnsupportedError

# torch tells of autograd nodes made in one stream and used in another; PyTorch's own examples of partial capture do that.
pytestmark = pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream does not match")


@pytest.fixture(autouse=True)
def _no_leftovers() -> Iterator[None]:
    yield
    gc.collect()


def captured(body: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = body()
    return graph, result


def warmed_up(step: Callable[[], Any], times: int = 3) -> None:
    """As the documentation of CUDA graphs asks for: in a side stream."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(times):
            step()
    torch.cuda.current_stream().wait_stream(stream)


def network(dropout: float = 0.0) -> torch.nn.Module:
    torch.manual_seed(3)
    layers = (torch.nn.Linear(16, 32), torch.nn.Dropout(dropout), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    return torch.nn.Sequential(*layers).cuda()


# Names and types


def test_row_cudagraph_graph_make_graphed_callables() -> None:
    """The names, and what they are to each other."""
    assert torch.cuda.graphs.CUDAGraph is torch.cuda.CUDAGraph
    assert torch.cuda.graphs.graph is torch.cuda.graph
    assert torch.cuda.graphs.make_graphed_callables is torch.cuda.make_graphed_callables
    assert issubclass(torch.cuda.CUDAGraph, torch._C._CUDAGraph)
    assert torch.cuda.CUDAGraph is torch.musa.MUSAGraph
    handle = torch.cuda.graph_pool_handle()
    assert isinstance(handle, tuple)
    if hasattr(torch.cuda, "_POOL_HANDLE"):  # older ones have it for type checkers only
        assert torch.cuda._POOL_HANDLE(handle) == handle
    assert torch._C._graph_pool_handle() != handle
    assert torch.cuda.is_current_stream_capturing() is torch._C._cuda_isCurrentStreamCapturing() is False


def test_graphs_are_graphs_either_way() -> None:
    for made in (torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph(keep_graph=True), torch.musa.MUSAGraph()):
        assert isinstance(made, torch.cuda.CUDAGraph) and type(made) is torch.cuda.CUDAGraph


def test_annotations_with_the_types() -> None:
    import typing

    def replay(graph: torch.cuda.CUDAGraph, context: torch.cuda.graph | None = None) -> None: ...

    hints = typing.get_type_hints(replay)
    assert hints["graph"] is torch.cuda.CUDAGraph


def test_a_subclass() -> None:
    class Named(torch.cuda.CUDAGraph):
        def __new__(cls, name: str) -> Any:
            return super().__new__(cls)

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def replay(self) -> None:
            self.name += "!"
            super().replay()

    x, graph = torch.ones(2, device="cuda"), Named("one")
    with torch.cuda.graph(graph):
        y = x + 1
    graph.replay()
    assert isinstance(graph, torch.cuda.CUDAGraph) and graph.name == "one!" and y.tolist() == [2, 2]


def test_the_context_by_position_and_by_keyword() -> None:
    x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
    pool, stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
    context = torch.cuda.graph(graph, pool, stream, "thread_local")
    with context:
        assert torch.cuda.current_stream() == stream and torch.cuda.is_current_stream_capturing()
        x + 1
    assert context.cuda_graph is graph and context.capture_stream == stream and graph.pool() == pool
    other = torch.cuda.CUDAGraph()
    with torch.cuda.graph(cuda_graph=other, pool=graph.pool(), stream=stream, capture_error_mode="relaxed"):
        x + 2
    assert other.pool() == pool and not torch.cuda.is_current_stream_capturing()


def test_one_capture_stream_for_all() -> None:
    x = torch.ones(1, device="cuda")
    contexts = [torch.cuda.graph(torch.cuda.CUDAGraph()) for _ in range(2)]
    assert contexts[0].capture_stream is contexts[1].capture_stream is torch.cuda.graph.default_capture_stream
    assert isinstance(torch.cuda.graph.default_capture_stream, torch.cuda.Stream)
    with contexts[0]:
        x + 1


def test_a_context_of_the_backend_fills_the_same_graphs() -> None:
    x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
    with torch.musa.graph(graph):
        y = x * 3
    graph.replay()
    assert y.tolist() == [3, 3]


def test_begin_and_end_by_hand() -> None:
    x, graph, stream = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph.capture_begin(pool=torch.cuda.graph_pool_handle(), capture_error_mode="global")
        y = x * 5
        graph.capture_end()
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [10, 10]
    with pytest.raises(RuntimeError, match="already owns a captured graph"), torch.cuda.stream(stream):
        graph.capture_begin()
    graph.reset()
    with torch.cuda.graph(graph):
        z = x * 7
    graph.replay()
    assert z.tolist() == [14, 14]


def test_keep_graph_and_instantiate() -> None:
    x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph(True)
    with pytest.raises(RuntimeError):
        graph.instantiate()
    with torch.cuda.graph(graph):
        y = x + 1
    graph.instantiate()
    graph.replay()
    graph.instantiate()
    graph.replay()
    assert y.tolist() == [2, 2]
    plain, _ = captured(lambda: x + 1)
    with pytest.raises(RuntimeError, match="keep_graph=true"):
        plain.instantiate()


def test_handles_of_the_driver_are_refused_where_a_release_has_none(musa: Interpreter) -> None:
    code = """
    import torch, torchada
    graph = torch.cuda.CUDAGraph()
    for name in ("raw_cuda_graph", "raw_cuda_graph_exec", "get_graph_data"):
        try:
            getattr(graph, name)()
        except torchada.UnsupportedError as error:
            assert f"CUDAGraph.{name} has no counterpart" in str(error), error
        else:
            raise SystemExit(f"{name} has answered")
    """
    musa.run(code, env={"MUSASIM_RELEASE": "2.7.1"}, forked=True)


def test_annotated_kernels_are_refused() -> None:
    if "enable_annotations" not in inspect.signature(torch.cuda.graph.__init__).parameters:
        pytest.skip("this torch has no enable_annotations")
    with pytest.raises(UnsupportedError, match="enable_annotations"):
        captured(lambda: torch.ones(1, device="cuda") + 1, enable_annotations=True)
    assert not torch.cuda.is_current_stream_capturing()


def test_inputs_that_have_died_are_named() -> None:
    if "check_input_liveness" not in torch.cuda.graph.__init__.__code__.co_varnames:
        pytest.skip("this torch has no check_input_liveness")
    kept, dying = torch.ones(2, device="cuda"), torch.ones(1 << 20, device="cuda")
    graph, out = captured(lambda: kept + dying[:2], check_input_liveness=True)
    kept.fill_(4)
    graph.replay()
    assert out.tolist() == [5, 5]
    dying.untyped_storage().resize_(0)  # what a device takes back with the tensor, the simulator keeps for its graph
    with pytest.raises(RuntimeError, match="dead tensor"):
        graph.replay()
    watched = weakref.ref(graph)
    del graph
    assert watched() is None
    plain, _ = captured(lambda: kept + 1)
    assert "replay" not in vars(plain)


# Whole-network capture

OPTIMIZERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01, capturable=True),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, capturable=True, foreach=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_step_learns_as_in_eager_mode(name: str) -> None:
    model = network()
    twin = copy.deepcopy(model)
    torch.manual_seed(0)
    data = [(torch.randn(8, 16, device="cuda"), torch.randn(8, 4, device="cuda")) for _ in range(100)]
    given, wanted = data[0][0].clone(), data[0][1].clone()

    def train_step(model: Any, optimizer: Any, x: Any, y: Any) -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    optimizer, eager = OPTIMIZERS[name](model.parameters()), OPTIMIZERS[name](twin.parameters())
    warmed_up(lambda: train_step(model, optimizer, given, wanted))
    for _ in range(3):
        train_step(twin, eager, *data[0])
    optimizer.zero_grad(set_to_none=True)
    graph, loss = captured(lambda: train_step(model, optimizer, given, wanted))
    losses, expected = [], []
    for x, y in data:
        given.copy_(x)
        wanted.copy_(y)
        graph.replay()
        losses.append(loss.item())
        expected.append(train_step(twin, eager, x, y).item())
    assert losses == pytest.approx(expected, rel=1e-5)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.filterwarnings("ignore:The MUSA Graph is empty")
def test_a_step_of_an_optimizer_that_is_not_capturable_is_refused() -> None:
    parameter = torch.ones(2, device="cuda", requires_grad=True)
    parameter.grad = torch.ones_like(parameter)
    optimizer = torch.optim.Adam([{"params": [parameter], "capturable": False}])
    optimizer.step()
    with pytest.raises(RuntimeError, match=r"Attempting CUDA graph capture of step\(\) for an instance of Adam"):
        captured(optimizer.step)


def test_autocast_and_a_scaler_around_partial_captures() -> None:
    """Forward and backward are captured; the scaler's step, which asks for infinities, is not."""
    model, twin = network(), network()
    loss_of = torch.nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    eager = torch.optim.SGD(twin.parameters(), lr=0.1)
    scaler, eager_scaler = torch.amp.GradScaler("cuda"), torch.amp.GradScaler("cuda")
    given, wanted = torch.randn(8, 16, device="cuda"), torch.randn(8, 4, device="cuda")

    def forward_backward(model: Any, scaler: Any, x: Any, y: Any) -> Any:
        with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
            loss = loss_of(model(x), y)
        scaler.scale(loss).backward()
        return loss

    def warm_up() -> None:
        optimizer.zero_grad(set_to_none=True)
        forward_backward(model, scaler, given, wanted)

    warmed_up(warm_up)
    optimizer.zero_grad(set_to_none=True)
    graph, loss = captured(lambda: forward_backward(model, scaler, given, wanted))
    for _ in range(20):
        x, y = torch.randn(8, 16, device="cuda"), torch.randn(8, 4, device="cuda")
        given.copy_(x)
        wanted.copy_(y)
        graph.replay()
        scaler.step(optimizer)
        scaler.update()
        eager.zero_grad(set_to_none=True)
        expected = forward_backward(twin, eager_scaler, x, y)
        eager_scaler.step(eager)
        eager_scaler.update()
        torch.testing.assert_close(loss, expected.detach())
    assert scaler.get_scale() == eager_scaler.get_scale()


def test_dropout_draws_anew_at_each_replay() -> None:
    x = torch.ones(1000, device="cuda")
    torch.cuda.manual_seed(5)
    graph, y = captured(lambda: torch.nn.functional.dropout(x, 0.5))
    drawn = []
    for seed in (None, None, 5, None):
        if seed is not None:
            torch.cuda.manual_seed(seed)
        graph.replay()
        drawn.append(y.clone())
    assert torch.equal(drawn[0], drawn[2]) and torch.equal(drawn[1], drawn[3])
    assert not torch.equal(drawn[0], drawn[1])
    assert 300 < int((drawn[0] == 0).sum()) < 700


def test_replays_and_eager_operations_share_one_sequence_of_random_numbers() -> None:
    graph, y = captured(lambda: torch.rand(4, device="cuda"))
    torch.cuda.manual_seed(9)
    expected = [torch.rand(4, device="cuda") for _ in range(3)]
    torch.cuda.manual_seed(9)
    graph.replay()
    assert torch.equal(y, expected[0])
    assert torch.equal(torch.rand(4, device="cuda"), expected[1])
    graph.replay()
    assert torch.equal(y, expected[2])


# Partial-network capture


def test_graphed_callables_within_a_larger_model() -> None:
    torch.manual_seed(1)
    parts = [torch.nn.Linear(8, 8).cuda() for _ in range(3)]
    twins = [copy.deepcopy(part) for part in parts]
    sample = torch.randn(4, 8, device="cuda", requires_grad=True)
    first = torch.cuda.make_graphed_callables(parts[0], (torch.randn(4, 8, device="cuda"),))
    second, third = torch.cuda.make_graphed_callables(
        (parts[1], parts[2]), ((sample,), (sample.detach().requires_grad_(),))
    )
    optimizer = torch.optim.SGD([p for part in parts for p in part.parameters()], lr=0.1)
    eager = torch.optim.SGD([p for part in twins for p in part.parameters()], lr=0.1)
    for step in range(6):
        x, y = torch.randn(4, 8, device="cuda"), torch.randn(4, 8, device="cuda")
        outcomes = []
        for sections, optim in (((first, second, third), optimizer), (twins, eager)):
            optim.zero_grad(set_to_none=True)
            middle = sections[0](x)
            out = sections[1](middle) if step % 2 else sections[2](middle)  # data-dependent control flow in between
            loss = torch.nn.functional.mse_loss(out, y)
            loss.backward()
            optim.step()
            outcomes.append(loss.detach().clone())
        torch.testing.assert_close(*outcomes)


def test_graphed_callables_in_evaluation() -> None:
    model = network(dropout=0.5).eval()
    graphed = torch.cuda.make_graphed_callables(model, (torch.randn(2, 16, device="cuda"),))
    x = torch.randn(2, 16, device="cuda")
    with torch.no_grad():
        expected = copy.deepcopy(network(dropout=0.5).eval())(x)
        torch.testing.assert_close(graphed(x), expected)
    graphed.train()  # the graph knows the mode it was captured in alone
    assert not torch.equal(graphed(x), graphed(x))


def test_graphed_functions_take_every_argument() -> None:
    pool = torch.cuda.graph_pool_handle()
    sample = torch.randn(4, device="cuda", requires_grad=True)
    unused = torch.randn(4, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(
        lambda x, y: x * x, (sample, unused), 2, allow_unused_input=True, pool=pool
    )
    assert any(segment["segment_pool_id"] == tuple(pool) for segment in torch.cuda.memory_snapshot())
    x = torch.randn(4, device="cuda", requires_grad=True)
    graphed(x, unused).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    with torch.autocast("cuda"), pytest.raises(RuntimeError, match="cache_enabled"):
        torch.cuda.make_graphed_callables(network(), (torch.randn(2, 16, device="cuda"),))


# What a capture forbids

FORBIDDEN: dict[str, Callable[[torch.Tensor], Any]] = {
    "device synchronize": lambda x: torch.cuda.synchronize(),
    "stream synchronize": lambda x: torch.cuda.current_stream().synchronize(),
    "stream query": lambda x: torch.cuda.current_stream().query(),
    "event synchronize": lambda x: torch.cuda.current_stream().record_event().synchronize(),
    "event query": lambda x: torch.cuda.current_stream().record_event().query(),
    "item": lambda x: x[0].item(),
    "cpu": lambda x: x.cpu(),
    "tolist": lambda x: x.tolist(),
    "print": lambda x: print(x),
    "bool": lambda x: bool(x.sum() > 0),
    "nonzero": lambda x: x.nonzero(),
    "a mask": lambda x: x[x > 0],
    "from pageable memory": lambda x: torch.ones(2).cuda(),
    "a tensor of values": lambda x: torch.tensor([1.0, 2.0], device="cuda"),
    "a masked assignment": lambda x: x.__setitem__(x > 0, torch.zeros(2, device="cuda")),
    "nested": lambda x: captured(lambda: x + 1),
}


@pytest.mark.full
@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden_calls_end_the_capture_and_nothing_else(name: str) -> None:
    x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="previous error during capture") as caught, torch.cuda.graph(graph):
        FORBIDDEN[name](x)
    assert "not permitted" in str(caught.value.__context__)
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    assert not torch.cuda.is_current_stream_capturing()
    torch.cuda.synchronize()
    assert (x + 1).tolist() == [2, 2]
    again, y = captured(lambda: x * 3)
    again.replay()
    assert y.tolist() == [3, 3]


def test_elapsed_time_in_a_capture() -> None:
    x, events = torch.ones(2, device="cuda"), [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def body() -> None:
        events[0].record()
        x + 1
        events[1].record()
        events[0].elapsed_time(events[1])

    with pytest.raises(RuntimeError, match="previous error during capture"):
        captured(body)
    assert (x + 1).tolist() == [2, 2]


@pytest.mark.parametrize(
    "call", [lambda: torch.manual_seed(99), lambda: torch.cuda.set_rng_state(torch.zeros(16, dtype=torch.uint8))]
)
def test_the_seed_stays_during_a_capture(call: Callable[[], Any]) -> None:
    torch.cuda.manual_seed(1)
    torch.rand(1, device="cuda")

    def body() -> None:
        torch.rand(2, device="cuda")
        call()

    with pytest.raises(RuntimeError, match="capture"):
        captured(body)


def test_captures_in_wrong_order() -> None:
    with pytest.raises(RuntimeError, match="non-default stream"):
        torch.cuda.CUDAGraph().capture_begin()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        torch.cuda.CUDAGraph().replay()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        torch.cuda.CUDAGraph().pool()
    with pytest.raises(RuntimeError):
        torch.cuda.CUDAGraph().capture_end()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        captured(lambda: None, capture_error_mode="strict")
    assert not torch.cuda.is_current_stream_capturing()


def test_work_in_other_streams_is_joined_by_events() -> None:
    x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()

    def body() -> Any:
        current = torch.cuda.current_stream()
        side.wait_stream(current)
        with torch.cuda.stream(side):
            y = x * 2
        current.wait_event(side.record_event())
        y.record_stream(current)
        return y + 1

    graph, out = captured(body)
    x.fill_(3)
    graph.replay()
    assert out.tolist() == [7] * 4


def test_pinned_memory_is_read_at_each_replay() -> None:
    host, x = torch.zeros(3).pin_memory(), torch.zeros(3, device="cuda")
    graph, _ = captured(lambda: x.copy_(host, non_blocking=True))
    host.fill_(4)
    graph.replay()
    assert x.tolist() == [4, 4, 4]


# Memory


def test_graphs_share_a_pool() -> None:
    pool = torch.cuda.graph_pool_handle()
    x = torch.ones(1 << 18, device="cuda")
    first, y = captured(lambda: (x + 1) * 2, pool=pool)
    reserved = torch.cuda.memory_reserved()
    second, z = captured(lambda: (y + 1) * 2, pool=first.pool())
    assert first.pool() == second.pool() == pool and torch.cuda.memory_reserved() <= reserved + (2 << 20)
    x.fill_(2)
    first.replay()
    second.replay()
    assert z[0].item() == 14


def test_a_replay_allocates_nothing() -> None:
    model, x = network(), torch.randn(64, 16, device="cuda")
    graph, out = captured(lambda: model(x).softmax(-1))
    address = out.data_ptr()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()
    for _ in range(3):
        graph.replay()
    assert torch.cuda.memory_stats() == before and out.data_ptr() == address


def test_memory_comes_back_with_the_graph() -> None:
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    graph, out = captured(lambda: torch.ones(1 << 20, device="cuda") * 2)
    assert torch.cuda.memory_allocated() > before[0]
    del graph, out
    gc.collect()
    torch.cuda.empty_cache()
    assert (torch.cuda.memory_allocated(), torch.cuda.memory_reserved()) == before


def test_a_graph_of_another_device() -> None:
    with torch.cuda.device("cuda:1"):
        x = torch.ones(2, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            y = x + 1
    x.fill_(5)
    graph.replay()
    assert y.device == torch.device("cuda:1") and y.tolist() == [6, 6]


# The driver's limit, and dumps


def test_row_graph_executable_rotation_2048_exec_limit(musa: Interpreter) -> None:
    """More graphs than the driver allows: those that have given up their executables get others at their next replay."""
    musa.run(
        """
        import torch
        x = torch.ones(1, device="cuda")
        def captured(step):
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin()
            y = x + step
            graph.capture_end()
            return graph, y
        with torch.cuda.stream(torch.cuda.Stream()):
            graphs = [captured(step) for step in range(2100)]
        for start in (1, 5):
            x.fill_(start)
            for graph, _ in graphs:
                graph.replay()
            assert [y.item() for _, y in graphs] == [start + step for step in range(2100)]
        """,
        forked=True,
    )


@pytest.mark.full
def test_without_rotation_the_error_at_the_limit_says_what_has_happened(musa: Interpreter) -> None:
    musa.run(
        """
        import torch
        x = torch.ones(1, device="cuda")
        def captured():
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin()
            x + 1
            graph.capture_end()
            return graph
        with torch.cuda.stream(torch.cuda.Stream()):
            graphs = [captured() for _ in range(2048)]
            try:
                captured()
            except RuntimeError as error:
                assert "2048 captured graphs are alive" in str(error) and "reset()" in str(error), error
                assert "illegal memory access" in str(error.__cause__)
            else:
                raise AssertionError
            graphs.pop().reset()
            del graphs[:10]
            graphs += [captured() for _ in range(11)]
        graphs[-1].replay()
        """,
        env={"TORCHADA_GRAPH_ROTATION": "0"},
        forked=True,
    )


def test_failures_far_from_the_limit_stay_as_they_are() -> None:
    with pytest.raises(RuntimeError) as caught, torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.cuda.synchronize()
    assert "captured graphs are alive" not in str(caught.value)


@pytest.mark.full
def test_row_graph_debug_dump_by_env(musa: Interpreter) -> None:
    musa.run(
        """
        import torch, warnings
        from pathlib import Path
        warnings.filterwarnings("ignore", "DEBUG: calling")
        x = torch.ones(2, device="cuda")
        for _ in range(2):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = x.mul(2)
        graph.replay()
        files = sorted(Path("dumps/here").iterdir())
        assert len(files) == 2 and all(file.match("graph_*.dot") for file in files)
        assert "aten::mul" in files[0].read_text()
        """,
        env={"TORCHADA_CUDA_GRAPH_DEBUG_DUMP_PATH": "dumps/here"},
    )


def test_a_dump_asked_for_by_the_program(tmp_path: Any) -> None:
    x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
    graph.enable_debug_mode()
    with torch.cuda.graph(graph):
        x.relu()
    with pytest.warns(UserWarning, match="DEBUG"):
        graph.debug_dump(str(tmp_path / "graph.dot"))
    assert "aten::relu" in (tmp_path / "graph.dot").read_text()


def test_everything_is_put_back(musa: Interpreter) -> None:
    musa.run(
        """
        import torch, torchada
        changed = set(vars(torch.musa.MUSAGraph))
        torchada.disable()
        assert torch.cuda.CUDAGraph is not torch.musa.MUSAGraph
        left = set(vars(torch.musa.MUSAGraph))
        assert changed - left == {"__init__", "instantiate", "raw_cuda_graph", "raw_cuda_graph_exec", "get_graph_data"}
        try:
            torch.musa.MUSAGraph(keep_graph=True)
        except TypeError:
            pass
        else:
            raise AssertionError
        torch.musa.MUSAGraph()
        """,
        env={"MUSASIM_RELEASE": "2.7.1"},
        forked=True,
    )
