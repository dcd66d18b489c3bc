"""What stands around the tests of a suite, in the process that runs them. It changes no test."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path


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


def torchada_triton() -> None:
    """As `torchada`; the kernels that the tests launch are the checkout's, because those of another version are others."""
    torchada()
    from torch.testing._internal import inductor_utils

    for name in ("HAS_CUDA", "HAS_XPU"):  # their names until 2.8
        if not hasattr(inductor_utils, name):
            setattr(inductor_utils, name, getattr(inductor_utils, f"{name}_AND_TRITON"))
    name = "torch.testing._internal.triton_utils"
    path = Path(os.environ["OUTSIDE_CHECKOUT"], *name.split(".")).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is missing: the suite needs PyTorch's torch/testing beside its tests")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


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
        "torchada_triton": torchada_triton,
        "earlier": earlier,
    }
    sys.setrecursionlimit(10_000)
    known[os.environ["OUTSIDE_HARNESS"]]()
