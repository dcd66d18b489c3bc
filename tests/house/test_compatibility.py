"""docs/reference/compatibility.md is what using every name of torch.cuda shows."""

from __future__ import annotations

import pytest
import torch

from support.interpreter import ROOT, Interpreter

pytestmark = pytest.mark.once


@pytest.mark.full
def test_no_name_of_torch_cuda_is_unaccounted_for(musa: Interpreter) -> None:
    musa.cwd = ROOT
    done = musa.run(["-m", "scripts.compatibility", "--check"], check=False)
    assert done.returncode == 0, done.stdout
    assert f"torch {torch.__version__.partition('+')[0]}, 0 problems" in done.stdout


@pytest.mark.slow
def test_a_name_torch_may_add_is_found(musa: Interpreter) -> None:
    """The names are read from torch, not from a list of ours, so a new name without an answer fails the check."""
    musa.cwd = ROOT
    code = """
    import sys, runpy, torch
    torch.cuda.brand_new = lambda device: torch._C._cuda_brandNew(device)
    torch.cuda.brand_new.__module__ = "torch.cuda"
    torch.cuda.__all__.append("brand_new")
    sys.argv = ["compatibility", "--check"]
    runpy.run_module("scripts.compatibility", run_name="__main__")
    """
    done = musa.run(code, check=False)
    assert done.returncode == 1 and "torch.cuda.brand_new" in done.stdout
