"""A launch of a Triton kernel: what Triton does around it, and what the device does with it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="needs triton")
import torch  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.runtime.errors import OutOfResources  # noqa: E402

pytestmark = [pytest.mark.musa, pytest.mark.once, pytest.mark.usefixtures("torch_musa")]
HAS_KNOBS = hasattr(triton, "knobs")


@triton.jit
def add_number(x, number, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) + number)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 32}, num_warps=2, pre_hook=lambda arguments: prepared.append(arguments["n"])),
        triton.Config({"BLOCK": 64}, num_stages=2),
    ],
    key=["n"],
    reset_to_zero=["total"],
)
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def add_to(total, x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.atomic_add(total + i, tl.load(x + i))
    else:
        tl.atomic_add(total + i, tl.load(x + i, mask=i < n), mask=i < n)


prepared: list[int] = []


@pytest.fixture
def zeros() -> torch.Tensor:
    return torch.zeros(32, device="musa")


@pytest.fixture
def knobs() -> Iterator[Any]:
    if not HAS_KNOBS:
        pytest.skip("triton.knobs came with Triton 3.4")
    yield triton.knobs.runtime
    triton.knobs.runtime.launch_enter_hook = triton.knobs.runtime.launch_exit_hook = None
    triton.knobs.runtime.jit_cache_hook = None


def test_a_launch_computes_on_the_devices_memory(zeros: torch.Tensor) -> None:
    add_number[(2,)](zeros, 1.5, BLOCK=16)
    assert zeros.device.type == "musa" and zeros.tolist() == [1.5] * 32


def test_a_view_of_a_tensor_begins_where_it_begins(zeros: torch.Tensor) -> None:
    add_number[(1,)](zeros[8:], 1.0, BLOCK=4)
    assert zeros.nonzero().flatten().tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize("grid", [(0,), (1, 0), lambda meta: (0,)])
def test_an_empty_grid_does_nothing(zeros: torch.Tensor, grid: Any) -> None:
    add_number[grid](zeros, 1.0, BLOCK=32)
    assert not zeros.any()


def test_warmup_compiles_and_does_not_run(zeros: torch.Tensor) -> None:
    compiled = add_number.warmup(zeros, 1.0, BLOCK=32, grid=(1,))
    assert not zeros.any()
    assert "tt.store" in compiled.asm["ttir"] and compiled.metadata.shared == 0
    compiled[(1, 1, 1)](zeros, 2.0, 32)
    assert zeros.tolist() == [2.0] * 32
    assert add_number.warmup(torch.float32, 1.0, BLOCK=16, grid=(1,)).asm["ttir"]


def test_a_kernel_is_compiled_from_its_source(zeros: torch.Tensor) -> None:
    signature = {"x": "*fp32", "number": "fp32", "BLOCK": "constexpr"}
    source = triton.compiler.ASTSource(fn=add_number, signature=signature, constexprs={"BLOCK": 32})
    compiled = triton.compile(source, target=triton.runtime.driver.active.get_current_target())
    compiled[(1, 1, 1)](zeros, 2.0, 32)
    assert zeros.tolist() == [2.0] * 32


def test_a_compiled_kernel_may_be_forgotten(zeros: torch.Tensor) -> None:
    compiled = add_number.warmup(zeros, 2.0, BLOCK=32, grid=(1,))
    compiled[(1, 1, 1)](zeros, 2.0, 32)
    assert triton.runtime.driver.active.utils.unload_module(compiled.module) is None
    add_number.device_caches.clear()
    del compiled  # Triton 3.9 unloads it; an error there would be reported as a warning
    gc.collect()
    add_number[(1,)](zeros, 1.0, BLOCK=32)
    assert zeros.tolist() == [3.0] * 32


def test_the_compiler_still_checks_types(zeros: torch.Tensor) -> None:
    with pytest.raises(triton.CompilationError, match="add_wrongly"):
        add_wrongly[(1,)](zeros)
    add_number[(1,)](zeros, 1.0, BLOCK=32)  # and the language is as it was


@triton.jit
def add_wrongly(x):
    tl.store(x + tl.arange(0, 8), tl.zeros([4], tl.float32))


def test_autotune_measures_each_configuration_and_resets() -> None:
    x, total = torch.rand(100, device="musa"), torch.zeros(100, device="musa")
    add_to[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](total, x, 100)
    torch.testing.assert_close(total, x)
    assert 100 in prepared and add_to.best_config in add_to.configs


def test_autotune_launches_each_configuration_twice_and_not_until_a_chips_clock_would_be_sure(
    zeros: torch.Tensor, knobs: Any
) -> None:
    tuned = triton.autotune([triton.Config({"BLOCK": size}) for size in (8, 16)], key=[])(add_number)
    launches: list[str] = []
    knobs.launch_enter_hook = lambda metadata: launches.append(metadata.get()["name"])
    tuned[(1,)](zeros, 1.0)
    assert len(launches) == 2 * 2 + 1
    assert triton.runtime.driver.active.get_benchmarker()(lambda: None, quantiles=(0.5, 0.2)) > [0.0, 0.0]


def test_hooks_see_launches_and_compilations(zeros: torch.Tensor, knobs: Any) -> None:
    seen: list[str] = []
    knobs.launch_enter_hook = lambda metadata: seen.append(f"enter {metadata.get()['name']}")
    knobs.launch_exit_hook = lambda metadata: seen.append("exit")
    knobs.jit_cache_hook = lambda **details: seen.append("compile")
    add_number.add_pre_run_hook(lambda *arguments, **keywords: seen.append("pre-run"))
    try:
        add_number[(4,)](zeros, 1.0, BLOCK=8, num_warps=1)
    finally:
        add_number.pre_run_hooks.clear()
    assert seen == ["pre-run", "compile", "enter add_number", "exit"]


def test_the_benchmarks_of_triton_run(zeros: torch.Tensor) -> None:
    def launch() -> None:
        add_number[(1,)](zeros, 1.0, BLOCK=32)

    assert triton.testing.do_bench(launch, warmup=1, rep=2) > 0
    assert len(triton.testing.do_bench(launch, warmup=1, rep=2, quantiles=[0.5, 0.9])) == 2


def test_a_captured_launch_replays_and_does_nothing_else(torch_musa: Any, zeros: torch.Tensor) -> None:
    add_number[(1,)](zeros, 0.0, BLOCK=32)
    graph = torch_musa.MUSAGraph()
    with torch_musa.graph(graph):
        add_number[(1,)](zeros, 1.5, BLOCK=32)
        doubled = zeros * 2
    assert not zeros.any()
    graph.replay()
    graph.replay()
    assert zeros.tolist() == [3.0] * 32 and doubled.tolist() == [6.0] * 32


def test_a_launch_belongs_to_the_current_stream(torch_musa: Any, zeros: torch.Tensor) -> None:
    stream = torch_musa.Stream()
    before, after = torch_musa.Event(enable_timing=True), torch_musa.Event(enable_timing=True)
    with torch_musa.stream(stream):
        assert triton.runtime.driver.active.get_current_stream(0) == stream.musa_stream
        before.record()
        add_number[(1,)](zeros, 1.0, BLOCK=32)
        after.record()
    after.synchronize()
    assert before.elapsed_time(after) >= 0 and zeros.all()


def test_another_device(torch_musa: Any) -> None:
    there = torch.zeros(32, device="musa:1")
    with torch_musa.device(1):
        add_number[(1,)](there, 1.0, BLOCK=32)
    assert there.all()
    with pytest.raises(ValueError, match=r"'x' of kernel 'add_number' lies on .*:1, and the kernel runs on .*:0"):
        add_number[(1,)](there, 1.0, BLOCK=32)


def test_limits_of_the_chip(zeros: torch.Tensor) -> None:
    with pytest.raises(OutOfResources, match="threads, Required: 2048, Hardware limit: 1024"):
        add_number[(1,)](zeros, 1.0, BLOCK=32, num_warps=64)
    with pytest.raises(RuntimeError, match=r"invalid argument.*\(1, 65536, 1\)"):
        add_number[(1, 65536)](zeros, 1.0, BLOCK=32)
    with pytest.raises(ValueError, match="num_ctas=2"):
        add_number[(1,)](zeros, 1.0, BLOCK=32, num_ctas=2)


def test_warps_of_older_chips_have_128_threads(zeros: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    # Chips before MP_31, such as MP_21 and MP_22; then a kernel may have 8 warps in a block of 1,024 threads, and not 16.
    from musasim.triton.driver import MusaDriver

    older = MusaDriver()
    monkeypatch.setattr(older, "get_device_capability", lambda device: (2, 2))
    target = older.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("musa", 22, 128)
    monkeypatch.setattr(MusaDriver, "get_current_target", lambda self: target)
    kernel = triton.jit(add_number.fn)  # anew, because the other one keeps the target that it was first launched for
    kernel[(1,)](zeros, 1.0, BLOCK=16, num_warps=8)
    assert zeros.tolist() == [1.0] * 16 + [0.0] * 16
    metadata = kernel.warmup(zeros, 1.0, BLOCK=16, num_warps=8, grid=(1,)).metadata
    assert (metadata.warp_size, metadata.target.warp_size, metadata.arch) == (128, 128, "22")
    with pytest.raises(OutOfResources, match="threads, Required: 2048, Hardware limit: 1024"):
        kernel[(1,)](zeros, 1.0, BLOCK=16, num_warps=16)


def test_what_the_driver_says_is_the_devices() -> None:
    from musasim.triton.driver import MusaDriver

    driver = triton.runtime.driver.active
    target = MusaDriver().get_current_target()
    assert (target.arch, target.warp_size) == (31, 32)
    properties = driver.utils.get_device_properties(0)
    device = torch.musa.get_device_properties(0)
    assert properties["multiprocessor_count"] == device.multi_processor_count
    assert driver.get_active_torch_device() == torch.device("musa", 0)
    assert driver.get_device_interface() is torch.musa


def test_gradients_through_a_kernel() -> None:
    x = torch.zeros(32, device="musa", requires_grad=True)
    AddOne.apply(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0] * 32


class AddOne(torch.autograd.Function):
    """x + 1, whose gradient is wrong by 1 on purpose, so that it shows that the kernel ran."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return with_one_added(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return with_one_added(grad)


def with_one_added(x: torch.Tensor) -> torch.Tensor:
    result = x.contiguous().clone()
    add_number[(1,)](result, 1.0, BLOCK=32)
    return result


def test_dynamo_does_not_trace_what_stands_for_the_vendors_c() -> None:
    from torch._dynamo import trace_rules

    assert trace_rules.check(type(triton.runtime.driver.active.utils).load_binary)
    assert not trace_rules.check(test_gradients_through_a_kernel)
