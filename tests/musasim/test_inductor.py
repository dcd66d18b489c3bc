"""torch.compile with Inductor in programs for MUSA, without torchada: C++ kernels on the device, and its own graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.fresh_process import run

pytestmark = pytest.mark.once

PRELUDE = """
    import torch, torch_musa
    from torch._dynamo.utils import counters
    def agrees(function, *arguments, **how):
        torch._dynamo.reset()
        expected, found = function(*arguments), torch.compile(function, fullgraph=True, **how)(*arguments)
        torch.testing.assert_close(found, expected)
        return found
"""


def compiled(code: str, cache: Path) -> str:
    return run(PRELUDE + code, TORCHINDUCTOR_CACHE_DIR=str(cache))


@pytest.mark.full
def test_what_draws_while_torch_compiles_leaves_the_devices_random_numbers(inductor_cache: Path) -> None:
    """By the vendor's change of torch's function, which knows CUDA alone."""
    compiled(
        """
    from torch._dynamo.utils import preserve_rng_state
    before = torch.musa.get_rng_state()
    with preserve_rng_state():
        torch.rand(4, device="musa")
        assert not torch.equal(torch.musa.get_rng_state(), before)
    assert torch.equal(torch.musa.get_rng_state(), before)
    """,
        inductor_cache,
    )


@pytest.mark.full
def test_kernels_that_another_thread_compiles(inductor_cache: Path) -> None:
    """Autograd's threads compile backward passes, and from torch 2.13 on what is assigned to a setting holds in its own thread."""
    compiled(
        """
    from concurrent.futures import ThreadPoolExecutor
    import torch._inductor.config as config
    def settings():
        return config.loop_ordering_after_fusion, config.compile_threads
    def of_a_bias(gradient):
        return gradient.sum((0, 1))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(settings).result() == settings() == (False, 1)
        pool.submit(agrees, of_a_bias, torch.randn(32, 2, 32, device="musa")).result()
    """,
        inductor_cache,
    )


@pytest.mark.slow
def test_kernels_and_graphs(inductor_cache: Path) -> None:
    compiled(
        """
    # Kernels run on the device of their inputs, and are seen by the profiler.
    def step(x, scale):
        y = (x @ x.t()).relu()[1:, ::2]
        y = torch.cat([y, y * scale]).softmax(-1)
        return y, y.sum(0), torch.ones(3, device=x.device) * x.shape[0]

    x = torch.randn(4, 8, device="musa:1")
    assert {t.device for t in agrees(step, x, torch.tensor(3.0))} == {x.device}
    assert counters["inductor"]["extern_calls"]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.MUSA]) as profile:
        torch.compile(step, fullgraph=True)(x, torch.tensor(3.0))
    assert any("inductor_kernel" in event.name for event in profile.events())

    # Graphs are replayed.
    def noisy(x):
        return torch.nn.functional.dropout(x, 0.5) + 1, x.sum()

    counters.clear()
    fast = torch.compile(noisy, mode="reduce-overhead")
    seen, results = [], []
    for _ in range(5):
        x = torch.rand(64, device="musa") + 1
        noise, total = fast(x)
        torch.testing.assert_close(total, x.sum())
        seen.append(tuple((noise > 1).tolist()))
        results.append(total)
    assert len(set(seen)) == 5, "each replay draws anew"
    torch.testing.assert_close(results[-2], results[-1], rtol=0, atol=0)  # one place for the results of every replay
    from torch_musa._inductor import musagraph_trees
    (node,) = musagraph_trees.get_manager(0).get_roots()
    assert isinstance(node, musagraph_trees.MUSAGraphNode) and isinstance(node.graph, torch.musa.MUSAGraph)
    assert counters["inductor"]["cudagraph_skips"] == 0
    try:
        results[0].sum()
    except RuntimeError as error:
        assert "overwritten by a subsequent run" in str(error)
    else:
        raise AssertionError("the result of the first call can still be read after the recording")
    """,
        inductor_cache,
    )


@pytest.mark.slow
def test_random_numbers(inductor_cache: Path) -> None:
    compiled(
        """
    dropout = lambda x: torch.nn.functional.dropout(x, 0.5)
    ones, fast = torch.ones(1000, device="musa"), torch.compile(dropout)
    torch.musa.manual_seed(1); first, second = fast(ones), fast(ones)
    torch.musa.manual_seed(1); again = fast(ones)
    assert torch.equal(first, again) and not torch.equal(first, second)
    assert 350 < (first == 0).sum().item() < 650
    torch._dynamo.reset()
    with torch._inductor.config.patch(fallback_random=True):
        torch.musa.manual_seed(1); compiled = torch.compile(dropout)(ones)
    torch.musa.manual_seed(1); assert torch.equal(compiled, dropout(ones))
    """,
        inductor_cache,
    )


@pytest.mark.full
def test_nothing_of_the_compiler_is_imported_beforehand() -> None:
    run("""
        import sys, torch, torch_musa
        assert not [name for name in sys.modules if name.startswith(("torch._dynamo", "torch._inductor"))]
        import torch._dynamo.device_interface as interfaces
        assert interfaces.get_interface_for_device("musa:1").__name__ == "MusaInterface"
        assert interfaces.__spec__.loader is interfaces.__loader__ and interfaces.__loader__.get_source
    """)


@pytest.mark.full
def test_a_wrapper_in_cpp_is_refused_by_name(inductor_cache: Path) -> None:
    pytest.importorskip("triton", reason="needs triton")
    run(
        PRELUDE
        + """
    x = torch.zeros(4, device="musa")
    with torch._inductor.config.patch(cpp_wrapper=True):
        try:
            torch.compile(lambda x: x + 1)(x)
        except Exception as error:
            assert "musasim has no wrapper in C++ for Inductor" in str(error), error
        else:
            raise AssertionError
    assert torch.compile(lambda x: x + 2)(x).tolist() == [2.0] * 4
    """,
        TORCHINDUCTOR_CACHE_DIR=f"{inductor_cache}-triton",
        MUSASIM_INDUCTOR="triton",
    )


@pytest.mark.full
def test_a_kernel_takes_lists_of_tensors(inductor_cache: Path) -> None:
    """As PyTorch's index_put_ does, which Inductor calls for a mask."""
    compiled(
        """
    def put(x, mask, values):
        return x.clone().index_put_([mask], values) * 2
    x, mask, values = torch.zeros(4, 8), torch.tensor([True, False, True, False]), torch.ones(2, 8)
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    agrees(put, *(each.to("musa") for each in (x, mask, values)))
    """,
        inductor_cache,
    )
