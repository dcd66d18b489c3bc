"""Triton as PyPI has it, on the simulator: kernels of CUDA programs run, and questions about NVIDIA's backend have answers."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

QUICK = True
NEEDS = ("triton",)
OLD = find_spec("triton") is not None and version("triton").startswith("3.3.")
TUTORIALS = Path(__file__).parent / "programs" / "triton_tutorials" / "main.py"
TOLERANCES = {"matmul": 2e-3}
KERNEL = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def set_to(x, value, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), value)

    def run():
        x = torch.zeros(8, device="cuda")
        set_to[(1,)](x, 2.0, BLOCK=8)
        assert x.tolist() == [2.0] * 8
"""


@pytest.fixture
def program(musa: Interpreter, tmp_path: Path) -> Interpreter:
    """An interpreter in a folder with a module that has a kernel: Triton reads its source."""
    import textwrap

    (tmp_path / "kernels.py").write_text(textwrap.dedent(KERNEL))
    musa.env.update(PYTHONPATH=str(tmp_path), TRITON_CACHE_DIR=str(tmp_path / "cache"))
    return musa


@pytest.mark.full
@pytest.mark.parametrize(
    "way",
    [
        pytest.param((), id="script"),
        pytest.param(("-m", "torchada", "run"), id="torchada run", marks=pytest.mark.slow),
    ],
)
def test_the_kernels_of_tritons_tutorials(program: Interpreter, way: tuple[str, ...]) -> None:
    done = program.run(["-W", "error", *way, str(TUTORIALS)], timeout=900)
    errors = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(errors) == 7
    assert {name: error for name, error in errors.items() if error > TOLERANCES.get(name, 1e-5)} == {}


@pytest.mark.full
@pytest.mark.parametrize("order", ["import torch, triton, kernels", "import kernels, torch", "import triton, kernels"])
def test_kernels_may_be_decorated_before_torch_is_imported(program: Interpreter, order: str) -> None:
    program.run(f"{order}\nkernels.run()")


@pytest.mark.full
@pytest.mark.parametrize("variable", ["TORCHADA_FORCE_CUDA_AVAILABLE=1", "TRITON_DEFAULT_BACKEND=nvidia"])
def test_nvidias_driver_is_not_looked_for(program: Interpreter, variable: str) -> None:
    name, _, value = variable.partition("=")
    program.run("import kernels; kernels.run()", env={name: value})


@pytest.mark.full
def test_without_a_backend_for_the_device_the_error_names_the_package(program: Interpreter) -> None:
    for forced in ("0", "1"):
        done = program.run(
            """
            import torch, triton
            del triton.backends.backends["musa"]  # as on hardware, where the simulator has no part in it
            triton.runtime.driver.active.get_current_device()
            """,
            env={"TORCHADA_FORCE_CUDA_AVAILABLE": forced},
            check=False,
            forked=True,
        )
        assert "has no backend for MUSA: it has" in done.stderr and "nvidia" in done.stderr
        assert "Install the package triton that the vendor of torch_musa publishes" in done.stderr


@pytest.mark.full
def test_hints_for_nvidias_scheduler_do_nothing(program: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "hinting.py").write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel(x):\n    tl.extra.cuda.gdc_wait()\n"
        "    tl.store(x, 1.0)\n    tl.extra.cuda.gdc_launch_dependents()\n"
    )
    program.run(
        """
        import torch, hinting
        x = torch.zeros(1, device="cuda")
        hinting.kernel[(1,)](x)
        assert x.item() == 1
    """,
        forked=True,
    )


def test_functions_of_libdevice_are_not_replaced_by_those_for_another_gpu(program: Interpreter) -> None:
    program.run(
        """
        import torch, triton
        from triton.language.extra import cuda
        functions = [each for each in vars(cuda.libdevice).values() if getattr(each, "__triton_builtin__", False)]
        assert functions and {each.__module__ for each in functions} == {"triton.language.extra.cuda.libdevice"}
    """,
        forked=True,
    )


@pytest.mark.full
def test_torch_knows_that_there_is_triton(program: Interpreter) -> None:
    program.run(
        """
        import torch, kernels
        from torch.utils._triton import has_triton
        assert has_triton()

        @torch.library.triton_op("ours::two", mutates_args={})
        def two(x: torch.Tensor) -> torch.Tensor:
            y = torch.empty_like(x)
            torch.library.wrap_triton(kernels.set_to)[(1,)](y, 2.0, BLOCK=8)
            return y

        x = torch.zeros(8, device="cuda")
        assert two(x).tolist() == [2.0] * 8
        assert torch.compile(lambda x: two(x) + 1, fullgraph=True)(x).tolist() == [3.0] * 8

        def launching(x):
            y = x.clone()
            kernels.set_to[(1,)](y, 2.0, BLOCK=8)
            return y * 2

        assert torch.compile(launching, fullgraph=True)(x).tolist() == [4.0] * 8
    """,
        timeout=900,
        forked=True,
    )


@pytest.mark.full
def test_the_helpers_of_triton_testing(program: Interpreter) -> None:
    program.run(
        """
        import torch, triton, kernels
        from triton import testing
        x = torch.zeros(8, device="cuda")
        def launch():
            kernels.set_to[(1,)](x, 2.0, BLOCK=8)
        assert testing.do_bench(launch, warmup=1, rep=2) > 0
        assert testing.do_bench_cudagraph(launch, rep=2) > 0
        assert x.tolist() == [2.0] * 8
        testing.assert_close(x, torch.full_like(x, 2.0))
        assert testing.get_dram_gbps() > 0
        assert testing.get_max_tensorcore_tflops(torch.float16, 1000) > 0
    """,
        forked=True,
    )


@pytest.mark.full
@pytest.mark.skipif(OLD, reason="autotune keeps its results from Triton 3.4 on")
def test_what_autotune_has_found_is_kept(program: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "tuned.py").write_text(
        "import triton, kernels\n"
        "configs = [triton.Config({'BLOCK': size}) for size in (4, 8)]\n"
        "tuned = triton.autotune(configs, key=[], cache_results=True)(kernels.set_to)\n"
    )
    code = """
        import torch, tuned
        x = torch.zeros(8, device="cuda")
        tuned.tuned[(1,)](x, 2.0)
        print(tuned.tuned.configs_timings is None, tuned.tuned.best_config.kwargs["BLOCK"])
    """
    first, second = (program.run(code, forked=True).stdout.split() for _ in range(2))
    assert first[1] == second[1]
    assert list((tmp_path / "cache").rglob("*.autotune.json"))


@pytest.mark.full
def test_disabling_leaves_nothing(program: Interpreter) -> None:
    program.run(
        """
        import torch, triton, torchada, kernels
        from triton.language.extra import cuda
        kernels.run()
        hint, known = cuda.gdc_wait if hasattr(cuda, "gdc_wait") else None, triton.backends.backends
        torchada.disable()
        assert all("torchada" not in repr(vars(each.driver)) for each in known.values())
        assert getattr(cuda, "gdc_wait", None) is not hint or hint is None
        assert triton.runtime.driver.active.get_current_target().backend == "musa"
        x = torch.zeros(8, device="musa")
        kernels.set_to[(1,)](x, 2.0, BLOCK=8)
        assert x.tolist() == [2.0] * 8
    """,
        forked=True,
    )


def test_a_machine_without_the_device_keeps_triton_as_it_is(plain: Interpreter) -> None:
    assert find_spec("triton")
    plain.run(
        """
        import sys, torch, triton
        assert not any(name.startswith("musasim") for name in sys.modules)
        try:
            triton.runtime.driver.active.get_current_device()
        except RuntimeError as error:
            assert "0 active drivers" in str(error)
        else:
            raise AssertionError
    """,
        forked=True,
    )


@pytest.mark.full
def test_the_vendors_part_of_the_language_is_there(program: Interpreter, tmp_path: Path) -> None:
    """As in Moore Threads' Triton; FlagGems takes its libdevice from it."""
    (tmp_path / "vendors.py").write_text(
        "import triton\nimport triton.language as tl\nfrom triton.language.extra.musa import libdevice\n\n"
        "@triton.jit\ndef kernel(x):\n    tl.store(x, libdevice.tanh(tl.load(x)))\n"
    )
    program.run(
        """
        import torch, vendors, triton.language.extra.musa.libdevice
        x = torch.ones(1, device="cuda")
        vendors.kernel[(1,)](x)
        torch.testing.assert_close(x, torch.ones(1, device="cuda").tanh())
    """,
        forked=True,
    )
