"""TORCHADA_RNG=cuda: large tensors have the random numbers that an NVIDIA GPU draws for the same seed.

The kernels of torch_musa draw as CUDA's do, but which thread makes an element depends on how many threads the device has.
torch_musa 2.9.1 and newer take the figures of another device from the environment, once, with the first random number.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.base.warnings import warn_once
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import MISSING, Variables

_VARIABLES = ("TORCH_ARCH_MP_COUNT", "TORCH_ARCH_MAXTHREADS_PER_MP")
# Where TORCH_RNG_ALIGN, which the adapter reads itself, names no other.
_GPU = "A100"


def patches(context: Context) -> Iterator[Patch]:
    if context.settings.rng != "cuda":
        raise Skip("TORCHADA_RNG=cuda asks for it")
    grids, adapter = getattr(context.namespace, "NV_GPU_REGISTRY", None), context.backend.adapter
    if grids is None:
        warn_once(
            f"TORCHADA_RNG=cuda: this {adapter} draws by the grid of its own device, so tensors with more elements than "
            "that has threads differ from CUDA's; torch_musa 2.9.1 and newer can draw by another"
        )
        raise Skip(f"{adapter} cannot draw by the grid of another device")
    environment = Variables()
    if all(environment.get(variable) is not MISSING for variable in _VARIABLES):
        raise Skip("the environment names a grid")
    for variable, figure in zip(_VARIABLES, grids[_GPU]):
        yield Patch(environment, variable, str(figure), None, note=f"{variable}, of an {_GPU}")
