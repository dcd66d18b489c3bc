"""What stands around the tests of a suite, in the process that runs them. It changes no test."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable


def vendor() -> None:
    """torch_musa is simulated and torchada does not take part (`installed/sitecustomize.py` makes it importable)."""
    importlib.import_module("torch_musa.testing")


def torchada() -> None:
    """CUDA is redirected. PyTorch's tests know CUDA alone, so they see that it is there, and its version."""
    import torchada  # noqa: F401

    # isort: split
    import torch  # noqa: F401


def torchada_cuda_only() -> None:
    """As `torchada`; of files that are about more than CUDA, the tests that name CUDA are run (`concerns_cuda`)."""
    torchada()


def concerns_cuda(name: str, doc: str) -> bool:
    """Whether a test of a file that is about more than CUDA is about CUDA."""
    return any(word in f"{name} {doc}".lower() for word in ("cuda", "gpu", "pin"))


def prepare() -> None:
    """Load the harness that the suite asks for."""
    known: dict[str, Callable[[], None]] = {
        "nothing": lambda: None,
        "vendor": vendor,
        "torchada": torchada,
        "torchada_cuda_only": torchada_cuda_only,
    }
    sys.setrecursionlimit(10_000)
    known[os.environ["OUTSIDE_HARNESS"]]()
