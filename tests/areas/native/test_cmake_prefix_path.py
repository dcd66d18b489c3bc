"""torch.utils.cmake_prefix_path: a package with the device for code that sees CUDA, PyTorch's own for other code."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa

ASKED = """
import sys
import torch, torchada
from pathlib import Path

torchada.set_view("__main__", "cuda")
own = Path(torch.__file__).parent / "share" / "cmake"
here = torch.utils.cmake_prefix_path
assert Path(here) != own and "enable_language(CUDA)" in (Path(here) / "Torch" / "TorchConfig.cmake").read_text()
torchada.set_view("__main__", "musa")
assert torch.utils.cmake_prefix_path == str(own)
torchada.set_view("__main__", "cuda")
torch.utils.cmake_prefix_path = "/mine"
assert torch.utils.cmake_prefix_path == "/mine"
torch.utils.cmake_prefix_path = here
assert torch.utils.cmake_prefix_path == here
torchada.disable()
assert torch.utils.cmake_prefix_path == str(own) and type(torch.utils) is type(sys)
torchada.enable()
assert torch.utils.cmake_prefix_path == here
"""


@pytest.mark.full
def test_by_who_asks_and_put_back(musa: Interpreter, tmp_path: Path) -> None:
    musa.run(ASKED, env={"TORCHADA_CACHE_DIR": str(tmp_path)})


def test_without_a_toolkit_it_is_torchs_own(musa: Interpreter, tmp_path: Path) -> None:
    """And with a cache that cannot be used there is a warning: a program may only look at it."""
    (tmp_path / "file").touch()
    done = musa.run(
        "import torch; print(torch.utils.cmake_prefix_path)",
        env={"TORCHADA_CACHE_DIR": str(tmp_path / "file"), "TORCHADA_STRICT": "0"},
    )
    assert done.stdout.strip().endswith("share/cmake")
    assert "torch.utils.cmake_prefix_path is torch's own" in done.stderr
