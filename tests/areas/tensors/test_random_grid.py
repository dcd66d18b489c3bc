"""TORCHADA_RNG=cuda draws by the grid of an NVIDIA GPU, where the release of torch_musa can."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.full]
LATER = {"MUSASIM_RELEASE": "2.9.1", "TORCHADA_RNG": "cuda"}
# The uniform number of the second word of thread 0: how far it is from the beginning is how many threads there are.
THREADS = """
import torch
torch.cuda.manual_seed(0)
drawn = torch.rand(500_000, device="cuda").cpu()
print(int((drawn - 0.8805201979121193).abs().argmin()))
"""


def threads(musa: Interpreter, **env: str) -> int:
    return int(musa.run(THREADS, env=env, forked=True).stdout.split()[-1])


def test_the_grid_is_that_of_an_a100_unless_another_is_named(musa: Interpreter) -> None:
    assert threads(musa, **LATER) == 108 * 2048
    assert threads(musa, **LATER, TORCH_RNG_ALIGN="H100") == 132 * 2048


def test_without_it_the_grid_is_the_devices(musa: Interpreter) -> None:
    assert threads(musa, MUSASIM_RELEASE="2.9.1") == 56 * 2048


def test_a_release_that_has_no_such_grids_is_named_in_a_warning(musa: Interpreter) -> None:
    older = {"MUSASIM_RELEASE": "2.7.1", "TORCHADA_RNG": "cuda", "TORCHADA_STRICT": "0"}
    done = musa.run(THREADS, env=older)
    assert "TORCHADA_RNG=cuda: this torch_musa draws by the grid of its own device" in done.stderr
    assert int(done.stdout.split()[-1]) == 56 * 2048


def test_undo_gives_the_environment_back(musa: Interpreter) -> None:
    musa.run(
        """
        import os, torch, torchada
        assert os.environ["TORCH_ARCH_MP_COUNT"] == "108"
        torchada.disable()
        assert "TORCH_ARCH_MP_COUNT" not in os.environ
        """,
        env=LATER,
        forked=True,
    )
