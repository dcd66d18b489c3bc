"""What stands around the tests of a suite, in the process that runs them. It changes no test."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path


def vendor() -> None:
    """torch_musa is simulated and torchada does not take part. The vendor's helpers for its tests come from the checkout."""
    from musasim import finder

    finder.install()
    import torch_musa

    torch_musa.__path__.append(str(Path(os.environ["OUTSIDE_CHECKOUT"]) / "torch_musa"))
    try:
        importlib.import_module("torch_musa.testing")
    finally:
        torch_musa.__path__.pop()


def torchada() -> None:
    """CUDA is redirected, and says that it is there. PyTorch's tests cannot be imported without a version of CUDA."""
    import torchada  # noqa: F401

    # isort: split
    import torch

    if torch.version.cuda is None:
        torch.version.cuda = "12.6"


def torchada_cuda_only() -> None:
    """As `torchada`; of files that are about more than CUDA, the tests that name CUDA are run (`concerns_cuda`)."""
    torchada()


def earlier() -> None:
    """CUDA is redirected as by default, and the private modules of torchada 0.1 are stood in for."""
    import torch  # noqa: F401

    from outside import private_names

    private_names.install()


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
        "earlier": earlier,
    }
    sys.setrecursionlimit(10_000)
    known[os.environ["OUTSIDE_HARNESS"]]()
