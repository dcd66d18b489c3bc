"""What probes have found is read from the cache once in a process: a thousand ranks may share a home."""

from __future__ import annotations

from pathlib import Path

from support.interpreter import Interpreter

PROGRAM = """
import sys
reads = []
sys.addaudithook(lambda event, args: event == "open" and str(args[0]).endswith("kernels.json") and reads.append(args[0]))
import torch
x = torch.ones(4, device="cuda")
assert torch.isfinite(x).all() and x.cumsum(0)[-1] == 4 and (x + 0j).conj().sum() == 4  # operators of three areas
torch.nn.EmbeddingBag(4, 2).cuda()(torch.zeros(1, 2, dtype=torch.long, device="cuda"))
print(len(reads))
"""


def test_the_file_is_read_once(musa: Interpreter, tmp_path: Path) -> None:
    env = {"TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    musa.run(PROGRAM, env=env)
    assert list((tmp_path / "cache" / "probes").glob("*/kernels.json"))
    # One time to compare it with what was stored, and one time to read it.
    assert musa.run(PROGRAM, env=env).stdout == "2\n"
