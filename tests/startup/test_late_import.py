"""Without a start-up file, `import torchada` does everything, however late it comes."""

from __future__ import annotations

import os
import sys

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa


def test_import_torchada_after_torch(musa: Interpreter) -> None:
    musa.run(
        """
        import sys
        import torchada
        torchada.disable()          # as if no start-up file had been read
        import torch
        from torch import zeros
        from torch.cuda import synchronize
        device = torch.device("cuda")
        assert device.type == "cuda"
        torchada.enable()
        assert zeros(2, device="cuda").is_cuda, "a name bound before"
        assert synchronize is torch.musa.synchronize
        assert torch.zeros(2, device=device).is_cuda, "a device made before"
        assert torch.zeros(2).to(device).is_cuda
        """
    )


def test_names_imported_from_torch_before_activation(musa: Interpreter) -> None:
    """Globals of every module are redirected; under the native mechanism, references anywhere else work as well."""
    done = musa.run(
        """
        import functools
        import torchada
        torchada.disable()
        import torch
        from torch import arange, autocast, device, full, Generator, Tensor, tensor, zeros as made
        from torch.fft import fftfreq
        kept = functools.partial(torch.zeros, device="cuda")
        torchada.enable()
        assert all(x.is_cuda for x in (arange(2, device="cuda"), full((2,), 1, device="cuda"), made(2, device="cuda")))
        assert tensor([1], device="cuda").is_cuda and fftfreq(4, device="cuda").is_cuda
        assert device("cuda:1").type == "musa" and Generator("cuda").device.type == "musa"
        assert Tensor.cuda(torch.zeros(1)).is_cuda
        with autocast("cuda"):
            assert torch.is_autocast_enabled("cuda")
        from torchada.hooks.state import STATE
        try:
            reached = kept(2).is_cuda
        except (AssertionError, RuntimeError):
            reached = False
        print(bool(STATE.context.mechanism.native) == reached)
        """
    )
    assert done.stdout.strip() == "True"


def test_import_torchada_first_of_all(musa: Interpreter) -> None:
    done = musa.run([*_without_site(), "import torchada, torch; print(torch.zeros(1, device='cuda').device)"])
    assert done.stdout.strip() == "cuda:0"


def test_import_torchada_last_of_all(musa: Interpreter) -> None:
    code = "import torch; assert torch.device('cuda').type == 'cuda'; import torchada; print(torch.zeros(1, device='cuda').device)"
    assert musa.run([*_without_site(), code]).stdout.strip() == "cuda:0"


def _without_site() -> list[str]:
    """Arguments for an interpreter that reads no start-up file, with the same sys.path."""
    # The path is no part of the code, because it may contain the word torchada, which decides what code sees.
    code = "import os, sys; sys.path[:] = sys.argv[1].split(os.pathsep); exec(sys.argv[2])"
    return ["-S", "-c", code, os.pathsep.join(sys.path)]
