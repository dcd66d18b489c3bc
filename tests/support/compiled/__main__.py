"""`python -m support.compiled cuda|musa BACKEND [NAME...]`."""

from __future__ import annotations

import json
import sys

from support.interpreter import STAND_INS

sys.path.insert(0, str(STAND_INS))
if sys.argv[1] == "musa":
    import musasim

    musasim.install()

# isort: split
import torch

if sys.argv[1] == "musa":
    import torch_musa  # noqa: F401

from support.compiled.report import report

if __name__ == "__main__":
    spelling, backend, *chosen = sys.argv[1:]
    torch.zeros(1, device=spelling)  # initialises
    print(json.dumps(report(spelling, backend, frozenset(chosen))))
