"""What a CUDA library calls a function, and what its MUSA counterpart calls it: for code that looks symbols up by name."""

from __future__ import annotations

from collections.abc import Callable


def _by_prefix(cuda: str, musa: str) -> Callable[[str], str]:
    def convert(name: str) -> str:
        return musa + name[len(cuda) :] if name.startswith(cuda) else name

    convert.__name__ = convert.__qualname__ = f"{cuda}_to_{musa}_name"
    convert.__doc__ = (
        f'The MUSA name of a {cuda} function: "{cuda}X" gives "{musa}X", any other name is returned unchanged.'
    )
    return convert


cuda_to_musa_name = _by_prefix("cuda", "musa")
nccl_to_mccl_name = _by_prefix("nccl", "mccl")
cublas_to_mublas_name = _by_prefix("cublas", "mublas")
curand_to_murand_name = _by_prefix("curand", "murand")
