"""torch_musa as if it were installed, in every process of a suite that runs without torchada, so also in those that tests start.

The simulator's package is found by its finder. `torch_musa.testing`, which the simulator does not have, is the checkout's.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from musasim import finder


class _Testing:
    """Finds the vendor's helpers for its tests."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        if name != "torch_musa.testing":
            return None
        return PathFinder.find_spec(name, [str(Path(os.environ["OUTSIDE_CHECKOUT"]) / "torch_musa")])


finder.install()
sys.meta_path.append(_Testing())
