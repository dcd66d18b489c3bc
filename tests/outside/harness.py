"""What stands around the tests of a suite, in the process that runs them. It changes no test."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Any)


def vendor() -> None:
    """torch_musa is simulated and torchada does not take part (`installed/sitecustomize.py` makes it importable).

    A file that sets variables for it does so before it imports torch, which then loads torch_musa as an installed one.
    """
    if 'os.environ["PYTORCH_MUSA_ALLOC_CONF"] =' not in Path(os.environ["OUTSIDE_FILE"]).read_text(encoding="utf-8"):
        importlib.import_module("torch_musa.testing")


def torchada() -> None:
    """CUDA is redirected. PyTorch's tests know CUDA alone, so they see that it is there, and its version."""
    import torchada  # noqa: F401

    # isort: split
    import torch  # noqa: F401


def torchada_cuda_only() -> None:
    """As `torchada`; of files that are about more than CUDA, the tests that name CUDA are run (`concerns_cuda`)."""
    torchada()


def torchada_devices() -> None:
    """As `torchada`; of tests that are made for each type of device, those for CUDA are run (`is_for_cuda`)."""
    torchada()


def torchada_inductor() -> None:
    """As `torchada`; whether Inductor has a GPU goes by the names that the question had until torch 2.8, too."""
    torchada()
    # torch decides once whether there is a GPU, by the view of who imports this first: a test, and not this package.
    exec("import torch.testing._internal.inductor_utils", {"__name__": "test", "__file__": os.environ["OUTSIDE_FILE"]})
    from torch.testing._internal import inductor_utils

    for name in ("HAS_CUDA", "HAS_XPU"):  # their names until 2.8
        if not hasattr(inductor_utils, name):
            setattr(inductor_utils, name, getattr(inductor_utils, f"{name}_AND_TRITON"))


def torchada_triton() -> None:
    """As `torchada_inductor`; the kernels that are launched are the checkout's, because those of another version are others."""
    torchada_inductor()
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


def is_for_cuda(item: Any) -> bool:
    """Whether PyTorch has made the test for CUDA, of a class that it makes one of for each type of device."""
    return item.cls is not None and item.cls.__name__.endswith("CUDA")


def smallest(items: Sequence[Test], each: int) -> list[Test]:
    """Of each test function, the `each` items with the smallest parameters, in the order that they had."""
    functions: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        functions.setdefault(item.nodeid.partition("[")[0], []).append(place)
    chosen = [sorted(places, key=lambda place: _size(items[place]))[:each] for places in functions.values()]
    return [items[place] for place in sorted(place for places in chosen for place in places)]


def _size(item: Any) -> float:
    """The product of a test's parameters that are numbers: what it has to compute grows with it."""
    parameters = getattr(item, "callspec", None)
    numbers = (value for value in parameters.params.values() if isinstance(value, int)) if parameters else ()
    return math.prod(max(abs(number), 1) for number in numbers)


def prepare() -> None:
    """Load the harness that the suite asks for."""
    known: dict[str, Callable[[], None]] = {
        "nothing": lambda: None,
        "vendor": vendor,
        "torchada": torchada,
        "torchada_cuda_only": torchada_cuda_only,
        "torchada_devices": torchada_devices,
        "torchada_inductor": torchada_inductor,
        "torchada_triton": torchada_triton,
        "earlier": earlier,
    }
    sys.setrecursionlimit(10_000)
    known[os.environ["OUTSIDE_HARNESS"]]()
