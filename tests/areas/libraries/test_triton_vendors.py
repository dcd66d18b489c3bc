"""Builds of Triton by Moore Threads, of several versions, as CUDA code finds them. Stand-ins of their shape take their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import vendor_triton
from support.interpreter import Interpreter

QUICK = True
pytestmark = pytest.mark.once
VERSIONS = ("3.1", pytest.param("3.2", marks=pytest.mark.slow), "3.6")
ALONE = "import triton\n\ndef target():\n    return triton.runtime.driver.active.get_current_target()\n"
AWARE = f"{ALONE}\ntorch_musa = None\n"


@pytest.fixture(params=VERSIONS)
def vendor(request: pytest.FixtureRequest, musa: Interpreter, tmp_path: Path) -> Interpreter:
    """An interpreter with a vendor's Triton of each version, and a module of each view."""
    folder = vendor_triton.write(tmp_path / "packages", request.param)
    (folder / "aware.py").write_text(AWARE)
    (folder / "alone.py").write_text(ALONE)
    musa.env["PYTHONPATH"] = str(folder)
    musa.env["VENDOR"] = request.param
    return musa


@pytest.mark.full
def test_the_target_is_that_of_who_asks(vendor: Interpreter) -> None:
    vendor.run(
        """
        import triton, torch, alone, aware
        driver, target = triton.runtime.driver.active, alone.target()
        assert (target.backend, target.arch, target.warp_size) == ("cuda", 31, 32), target
        assert aware.target().backend == "musa"
        assert driver.get_current_device() == 0 and isinstance(driver.get_current_stream(0), int)
    """,
        forked=True,
    )


@pytest.mark.full
def test_the_target_that_was_told_compiles_for_the_device(vendor: Interpreter) -> None:
    vendor.run(
        """
        import triton, torch, alone
        from triton.backends.compiler import GPUTarget
        from triton.compiler import make_backend
        own = make_backend(alone.target())
        assert own.name in ("mtgpu", "musa") and own.target.backend == "musa", own.target
        try:
            other = make_backend(GPUTarget("cuda", 90, 32))
        except ValueError:
            other = None  # this build has no backend for NVIDIA's GPUs
        assert other is None or other.name == "nvidia"
    """,
        forked=True,
    )


@pytest.mark.full
def test_what_an_older_driver_lacks(vendor: Interpreter) -> None:
    vendor.run(
        """
        import os, triton, torch
        driver = triton.runtime.driver.active
        if os.environ["VENDOR"] == "3.6":
            assert driver.get_device_interface() == driver.get_active_torch_device() == "its own"
        else:
            assert driver.get_device_interface() is torch.musa
            assert driver.get_active_torch_device() == torch.device("cuda", 0)
            driver.clear_cache(driver.get_empty_cache_for_benchmark()[:8])
    """,
        forked=True,
    )


@pytest.mark.full
def test_the_language_of_nvidia(vendor: Interpreter) -> None:
    vendor.run(
        """
        import torch, triton
        import triton.language as tl
        from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait, libdevice
        import triton.language.extra.cuda.libdevice
        assert tl.extra.cuda.gdc_wait is gdc_wait and gdc_wait(_semantic=object()) is None
        assert gdc_launch_dependents.__triton_builtin__
        assert libdevice.tanh(1.0) == "musa"
    """,
        forked=True,
    )


@pytest.mark.full
def test_nvidias_backend_is_never_chosen(vendor: Interpreter) -> None:
    vendor.run(
        "import torch, triton; assert triton.runtime.driver.active.get_current_device() == 0",
        env={"TORCHADA_FORCE_CUDA_AVAILABLE": "1", "TRITON_DEFAULT_BACKEND": "nvidia"},
        forked=True,
    )


@pytest.mark.full
def test_disabling_leaves_nothing(vendor: Interpreter) -> None:
    vendor.run(
        """
        import sys, triton, torch, torchada
        def state():
            known = triton.backends.backends.values()
            modules = {name for name in sys.modules if name.startswith("triton")}
            return [dict(vars(each.driver)) for each in known], dict(vars(triton.compiler)), modules, dir(triton.language.extra)
        redirected = state()
        torchada.disable()
        plain = state()
        assert plain != redirected
        assert all("torchada" not in repr(vars(each.driver)) for each in triton.backends.backends.values())
        assert triton.runtime.driver.active.get_current_target().backend == "musa"
        torchada.enable()
        assert state()[2:] == redirected[2:]
    """,
        forked=True,
    )
