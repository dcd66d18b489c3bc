"""torch.compile by Inductor in unchanged CUDA code: the answers of eager mode, graphs that are replayed, caches, sub-processes."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import torchada
from support import vendor_python
from support.interpreter import Interpreter

pytestmark = [
    pytest.mark.usefixtures("inductor_cache", "compiled_anew"),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),  # torch's own, in an import of Inductor's
    pytest.mark.filterwarnings("ignore:The MUSA Graph is empty"),  # what keeps a tree's pool alive
]


def agree(function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
    expected = function(*arguments)
    found = torch.compile(function, fullgraph=True, **how)(*arguments)
    torch.testing.assert_close(found, expected)
    return found


@pytest.mark.full
def test_a_function_of_everything() -> None:
    """One graph, on the second device: a matrix product, views, a reduction, writing in place, a factory, a device asked."""

    def step(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = (x @ x.t()).relu()[1:, ::2].contiguous()
        y[0] = 3
        y.add_(torch.ones(2, device="cuda:1"))
        return y, y.softmax(-1).sum(0), x.cuda(1).view(-1)[::3] * (2 if x.is_cuda else 3)

    results = agree(step, torch.randn(4, 8, device="cuda:1"))
    assert {result.device for result in results} == {torch.device("cuda", 1)}


def _synchronized(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    torch.cuda.synchronize()
    return y * 2


def _timed(x: torch.Tensor) -> torch.Tensor:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    y = (x * 2).sin()
    end.record()
    end.synchronize()
    return y + 1


def _waiting_for_the_stream(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    torch.cuda.current_stream().synchronize()
    return y * 2


def _waiting_for_the_accelerator(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    torch.accelerator.synchronize()
    return y * 2


def _waiting_for_an_event(x: torch.Tensor) -> torch.Tensor:
    event = torch.cuda.Event()
    y = x + 1
    event.record()
    event.wait()
    return y * 2


@pytest.mark.full
@pytest.mark.parametrize(
    "function",
    [_synchronized, _timed, _waiting_for_the_stream, _waiting_for_the_accelerator, _waiting_for_an_event],
    ids=lambda function: function.__name__.strip("_"),
)
def test_kernels_stay_on_their_side_of_what_waits(function: Callable[..., Any]) -> None:
    x = torch.ones(3, device="cuda")
    expected = function(x)
    torch.testing.assert_close(torch.compile(function)(x), expected)


@pytest.mark.full
def test_generated_code_allocates_by_torch_s_own_function() -> None:
    """It names the device itself; a function of ours between the two would cost every buffer its time."""
    from torch._inductor.codecache import PyCodeCache

    before = len(PyCodeCache.modules)
    agree(lambda x: (x + 1).relu(), torch.randn(3, device="cuda"))
    (generated,) = (module for module in PyCodeCache.modules[before:] if hasattr(module, "empty_strided"))
    assert inspect.isbuiltin(generated.empty_strided)


@pytest.mark.full
def test_graphs_that_call_functions_of_torch_may_be_kept() -> None:
    """The cache of graphs for autograd refuses Python functions that it does not know."""
    from torch._dynamo.utils import counters

    counters.clear()
    with torch._functorch.config.patch(enable_autograd_cache=True):
        agree(lambda x: x + torch.ones(7, device="cuda"), torch.rand(7, device="cuda"))
    found = counters["aot_autograd"]
    assert found["autograd_cache_bypass"] == 0 and found["autograd_cache_miss"] == 1, found


@pytest.mark.full
def test_reduce_overhead() -> None:
    """A model in training, forward and backward replayed; its step begins where CUDA code says so."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).cuda()
    copied = copy.deepcopy(model)
    fast = torch.compile(copied, mode="reduce-overhead")
    first = None
    for _ in range(4):
        x = torch.randn(4, 8, device="cuda")
        for each in (model, fast):
            torch.compiler.cudagraph_mark_step_begin()
            result = each(x)
            each.zero_grad()
            result.square().mean().backward()
            with torch.no_grad():
                for parameter in each.parameters():
                    parameter -= 0.1 * parameter.grad
        first = result if first is None else first
    torch.testing.assert_close(dict(copied.named_parameters()), dict(model.named_parameters()))
    import torch._inductor.cudagraph_trees as trees

    nodes = list(trees.get_manager(0).get_roots())
    assert [type(node.graph) for node in nodes] == [torch.cuda.CUDAGraph]
    assert first is not None
    with pytest.raises(RuntimeError, match="overwritten by a subsequent run"):
        first.sum()


@pytest.mark.full
def test_code_for_the_cpu_is_compiled_beside_the_device() -> None:
    """torch 2.7 by itself fails with KeyError: 'cpu' once a device of another package is registered."""
    agree(lambda x: x * 2 + 1, torch.rand(5, device="cuda"))
    agree(lambda x: x * 2 + 1, torch.rand(5))


def test_reduce_overhead_with_sizes_that_change() -> None:
    """Sizes are numbers among the inputs of a graph, whose addresses are compared before each replay."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return x * x.shape[0]

    fast = torch.compile(function, mode="reduce-overhead", dynamic=True)
    for size in (3, 4, 3, 4, 3, 4):
        x = torch.rand(size, device="cuda")
        torch.testing.assert_close(fast(x), function(x))
    import torch._inductor.cudagraph_trees as trees

    assert len(list(trees.get_manager(0).get_roots())) == 2


FORCED = """
import torch
function = lambda x: (x * 2 + 1).relu()
fast = torch.compile(function, mode="reduce-overhead")
for _ in range(3):
    x = torch.randn(8, device="cuda")
    torch.compiler.cudagraph_mark_step_begin()
    torch.testing.assert_close(fast(x), function(x))
import torch._inductor.cudagraph_trees as trees
print(len(list(trees.get_manager(0).get_roots())))
"""


@pytest.mark.slow
def test_reduce_overhead_where_all_code_sees_cuda(musa: Interpreter, tmp_path: Path) -> None:
    """Inductor, which knows MUSA, then takes its way for CUDA."""
    env = {"TORCHADA_FORCE_CUDA_AVAILABLE": "1", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    assert musa.run(["-W", "ignore", "-c", FORCED], env=env).stdout == "1\n"


def test_objects_left_for_threads_of_autograd_live_as_long_as_they_are_held() -> None:
    """Two modules of graph trees leave theirs in one place; torch 2.7 itself counts no reference, and would free the first's."""
    import torch._inductor.compile_fx

    first: list[int] = []
    held = sys.getrefcount(first)
    torch._C._stash_obj_in_tls("torchada's test", first)
    assert sys.getrefcount(first) == held + 1
    torch._C._stash_obj_in_tls("torchada's test", [])
    assert sys.getrefcount(first) == held


def test_tables_of_devices() -> None:
    from torch._dynamo.device_interface import CudaInterface, get_interface_for_device
    from torch._inductor.codegen import common

    interface = get_interface_for_device("cuda")
    assert interface is get_interface_for_device(torch.device("cuda:1")) is get_interface_for_device("musa")
    assert interface.device_count() == torch.cuda.device_count()
    assert interface.Stream is torch.cuda.Stream
    assert CudaInterface.get_raw_stream(0) == torch.cuda.current_stream().cuda_stream
    common.init_backend_registration()
    assert common.get_scheduling_for_device("cuda") is common.device_codegens["musa"].scheduling
    assert common.get_wrapper_codegen_for_device("cuda") is common.device_codegens["musa"].wrapper_codegen
    assert common.get_device_op_overrides("cuda") is common.get_device_op_overrides("musa")
    assert common.has_backend_feature("cuda", common.BackendFeature.INPLACE_BUFFERS)
    own = common.device_codegens["musa"]
    try:
        common.register_backend_for_device("cuda", own.scheduling, own.wrapper_codegen, own.cpp_wrapper_codegen)
        assert common.device_codegens["musa"] is not own, "a program's backend for cuda is one for the device"
    finally:
        common.device_codegens["musa"] = own
    with torchada.disabled():
        assert get_interface_for_device is not torch._dynamo.device_interface.get_interface_for_device
        assert torch._dynamo.device_interface.get_interface_for_device("cuda") is CudaInterface
        assert common.get_scheduling_for_device("cuda") is not own.scheduling


def test_settings_that_name_cuda_are_kept() -> None:
    from torch._inductor import config

    with config.patch({"triton.cudagraphs": True, "cuda_backend": "triton", "triton.cudagraph_trees": True}):
        assert config.triton.cudagraphs and config.cuda_backend == "triton"
    assert hasattr(config, "cuda") or hasattr(config, "cutlass")


def test_the_key_of_the_caches_names_the_device_and_us() -> None:
    from torch._inductor.codecache import CacheBase

    ours = CacheBase.get_system()
    assert ours["device"]["name"] == torch.cuda.get_device_name()
    assert ours["version"]["torchada"] == torchada.__version__
    with torchada.disabled():
        assert CacheBase.get_system()["hash"] != ours["hash"]


def test_devices_of_autotuning_are_the_visible_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config
    from torch._inductor.autotune_process import TuningProcessPool

    # A method in torch 2.7; an object of its class would start processes in newer ones.
    listed = functools.partial(
        TuningProcessPool.get_device_list, *inspect.signature(TuningProcessPool.get_device_list).parameters
    )
    # By torch's own context: undone by monkeypatch, the setting is gone for good in torch 2.7, and Inductor with it.
    with config.patch(autotune_multi_device=True):
        assert listed() == [0, 1]
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
        assert listed() == [1]
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
        monkeypatch.setenv("MUSA_VISIBLE_DEVICES", "1,0")
        assert listed() == [1, 0]


def test_candidates_of_autotuning() -> None:
    registry = pytest.importorskip("torch._inductor.template_heuristics.registry", reason="from torch 2.9")
    if hasattr(registry, "get_registered_heuristic_class"):
        from torch._inductor.kernel.mm import aten_mm_dtype

        find = functools.partial(registry.get_registered_heuristic_class, aten_mm_dtype.uid)
        assert find("musa", "mm") is find("cuda", "mm") is not None
    else:
        from torch._inductor import choices
        from torch._inductor.kernel.bmm import aten_bmm_dtype

        make = functools.partial(choices.get_template_heuristic, aten_bmm_dtype.uid)
        assert make("musa", "bmm") is make("cuda", "bmm")
        assert type(make("xpu", "bmm")) is not type(make("musa", "bmm"))


SEEN = "__import__('os').environ.get('MUSA_VISIBLE_DEVICES'), __import__('torch').zeros(1, device='cuda').device, "
SEEN += "__import__('torch').cuda.device_count()"


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(torch._C, "_tensor_impl_raw_handle") and torch.__version__ < "2.8", reason="from torch 2.8"
)
def test_a_process_that_autotunes_sees_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.autotune_process import TuningProcess

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    if not hasattr(TuningProcess, "start"):
        pytest.skip("torch 2.7 has another way to start one")
    process = TuningProcess(device=1)
    process.put(functools.partial(eval, SEEN))
    try:
        assert process.get(timeout=400) == ("1", torch.device("cuda", 0), 1)
    finally:
        process.shutdown()


ASKED = "str(__import__('torch').device('cuda')), __import__('torch._dynamo.device_interface', fromlist=['']) "
ASKED += ".get_interface_for_device('cuda').Worker.get_device_properties('cuda:1').name"


@pytest.mark.slow
def test_a_compile_worker_is_redirected() -> None:
    """It may not use the device, for it is forked, and knows what was noted of it before."""
    from torch._inductor.compile_worker.subproc_pool import SubprocPool

    pool = SubprocPool(1)
    try:
        assert pool.submit(functools.partial(eval, ASKED)).result() == ("musa", torch.cuda.get_device_name(1))
    finally:
        pool.shutdown()


CACHED = """
import json, torch
from torch._dynamo.utils import counters
@torch.compile(fullgraph=True)
def step(x):
    return (x.sin() + torch.ones(7, device=DEVICE)).sum()
x = torch.rand(7, device=DEVICE, requires_grad=True)
step(x).backward()
found = {**counters["inductor"], **counters["aot_autograd"]}
print(json.dumps([found.get("fxgraph_cache_hit", 0), found.get("autograd_cache_hit", 0), x.grad.tolist() == x.cos().tolist()]))
"""


@pytest.mark.slow
def test_a_second_process_finds_what_the_first_compiled(musa: Interpreter, tmp_path: Path) -> None:
    here = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "TORCHINDUCTOR_AUTOGRAD_CACHE": "1"}
    cuda, native = CACHED.replace("DEVICE", "'cuda'"), CACHED.replace("DEVICE", "'musa'")
    assert musa.json(cuda, env=here)[:2] == [0, 0]
    assert musa.json(cuda, env=here)[1] == 1
    without = {**here, "TORCHADA_DISABLE": "1"}
    native = "import musasim; musasim.install(); import torch_musa\n" + native
    assert musa.json(native, env=without)[:2] == [0, 0], "compiled with torchada, taken without it"
    assert musa.json(native, env=without)[1] == 1


@pytest.mark.slow
def test_dynamic_shapes() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x * x.shape[0]).sum(-1) + x.shape[1]

    dynamic = torch.compile(function, dynamic=True, fullgraph=True)
    for n in (3, 5, 9):
        x = torch.randn(n, n + 1, device="cuda")
        torch.testing.assert_close(dynamic(x), function(x))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["default", "max-autotune", "reduce-overhead"])
def test_a_convolutional_network(mode: str) -> None:
    layers = [
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(144, 2),
    ]
    network = torch.nn.Sequential(*layers).cuda().eval()
    x = torch.randn(2, 3, 8, 8, device="cuda")
    with torch.no_grad():
        fast = torch.compile(network, mode=mode)
        for _ in range(3):
            torch.testing.assert_close(fast(x), network(x))


@pytest.mark.slow
def test_autocast_attention_and_copies() -> None:
    linear = torch.nn.Linear(16, 16).cuda()

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = linear(x)
        attended = torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        return y, attended, (x.cpu() * 2).cuda(), x.cpu() + 1

    agree(function, torch.randn(1, 2, 8, 16, device="cuda"))


@pytest.mark.slow
def test_dropout() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x, 0.5)

    ones, fast = torch.ones(1000, device="cuda"), torch.compile(function)
    torch.cuda.manual_seed(1)
    first, second = fast(ones), fast(ones)
    torch.cuda.manual_seed(1)
    assert torch.equal(fast(ones), first) and not torch.equal(first, second)
    torch._dynamo.reset()
    with torch._inductor.config.patch(fallback_random=True):
        torch.cuda.manual_seed(1)
        as_eager = torch.compile(function)(ones)
    torch.cuda.manual_seed(1)
    assert torch.equal(as_eager, function(ones))


@pytest.mark.slow
def test_calls_of_one_step_keep_their_results() -> None:
    """One function twice in a step, then a break of the graph: what the first call gave is not overwritten by the second."""

    def wave(x: torch.Tensor) -> torch.Tensor:
        y = x.sin() + x
        torch._dynamo.graph_break()
        return y * y

    fast = torch.compile(wave, mode="reduce-overhead")
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(8, device="cuda:1")
        y = fast(x)
        z = fast(y)
        torch.testing.assert_close((y, z), (wave(x), wave(wave(x))))


@pytest.mark.full
def test_the_current_device_is_a_constant_where_dynamo_was_imported_early(musa: Interpreter) -> None:
    """As the real torch_musa does at its own import, before anything is redirected."""
    early = vendor_python.IMPORTS_THE_BUILDER.replace("torch.utils.cpp_extension", "torch._dynamo.variables.torch")
    musa.run(f"""{early}
import torch
step = torch.compile(lambda x: x + torch.cuda.current_device(), backend="eager", fullgraph=True)
assert step(torch.ones(3, device="cuda")).tolist() == [1.0] * 3
""")
