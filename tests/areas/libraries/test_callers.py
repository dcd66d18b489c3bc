"""Libraries that ask for CUDA before they use the device: each takes the way that it takes on CUDA."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

CALLERS: dict[str, tuple[str, dict[str, object]]] = {
    "ignite_auto.py": ("ignite", {"pinned": True, "device": "cuda", "model": "DataParallel"}),
    "tensordict_graphs.py": ("tensordict", {"replayed": True, "is_cuda": True}),
    "geometric_prefetch.py": ("torch_geometric", {"stream": True}),
    "gpytorch_neighbors.py": ("gpytorch", {}),
    "fairscale_pipe.py": ("fairscale", {"stream": True, "default": True}),
    "bitsandbytes_linear.py": ("bitsandbytes", {}),
}


@pytest.mark.parametrize("program", list(CALLERS))
def test_a_library_goes_the_way_of_cuda(agrees: Any, program: str) -> None:
    library, took = CALLERS[program]
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    agrees(program, **took)


@pytest.mark.parametrize("arguments", [(), ("compile",)], ids=["eager", "compiled"])
def test_the_shape_of_nanogpt_trains(agrees: Any, arguments: tuple[str, ...]) -> None:
    agrees("nanogpt_shape.py", *arguments, pinned=True)
