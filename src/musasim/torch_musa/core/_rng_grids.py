"""The grids of NVIDIA's GPUs, by which kernels of torch_musa 2.9.1 and newer divide random numbers among threads.

Which thread makes an element depends on how many threads there are, so large tensors differ between devices for the same seed.
The kernels read the two variables once in a process, with the first random number.
"""

from __future__ import annotations

import os
from typing import Any

from musasim.base import release

_VARIABLES = ("TORCH_ARCH_MP_COUNT", "TORCH_ARCH_MAXTHREADS_PER_MP")
#: Multiprocessors, and threads for each.
NV_GPU_REGISTRY = {
    "V100": (80, 2048),
    "A100": (108, 2048),
    "A800": (108, 2048),
    "H100_PCIE": (114, 2048),
    "H100": (132, 2048),
    "H200": (132, 2048),
    "H800": (132, 2048),
    "B200": (192, 2048),
}


def align_rng_to_nv_gpu(gpu_name: str | None = None) -> None:
    """Draw random numbers as this GPU of NVIDIA's does, or the one that TORCH_RNG_ALIGN names.

    Where both variables of the grid are set, they stay. Raises ValueError for a GPU that is not in NV_GPU_REGISTRY.
    """
    gpu_name = os.environ.get("TORCH_RNG_ALIGN") if gpu_name is None else gpu_name
    if gpu_name is None or all(os.environ.get(variable) for variable in _VARIABLES):
        return
    name = gpu_name.upper().replace("-", "_")
    if name not in NV_GPU_REGISTRY:
        raise ValueError(f"Unknown NV GPU {gpu_name!r}. Available: {', '.join(sorted(NV_GPU_REGISTRY))}")
    os.environ.update(zip(_VARIABLES, map(str, NV_GPU_REGISTRY[name])))


def publish(*owners: dict[str, Any]) -> None:
    """Put the two names into the modules of the release that has them, and align as its import does."""
    if not release.since("2.9.1"):
        return
    for names in owners:
        names.update(NV_GPU_REGISTRY=NV_GPU_REGISTRY, align_rng_to_nv_gpu=align_rng_to_nv_gpu)
    align_rng_to_nv_gpu()


align_rng_to_nv_gpu.__module__ = "torch_musa.core.random"
