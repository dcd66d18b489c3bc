"""What Inductor's C++ compiler gets for the device: headers, libraries, the definition that selects torch_musa's part of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Options = tuple[list[str], list[str], list[str], list[str], list[str], list[str], list[str]]


def options_by_device(get_torchs_own: Callable[..., Options]) -> Callable[..., Options]:
    """`get_cpp_torch_device_options`, for the device as well."""

    def get_cpp_torch_device_options(device_type: str, *args: Any, **kwargs: Any) -> Options:
        options = get_torchs_own(device_type, *args, **kwargs)
        return _with_the_device(options) if device_type == "musa" else options

    return get_cpp_torch_device_options


def _with_the_device(options: Options) -> Options:
    from musasim.base import torch_headers

    from ..utils._paths import include_paths, library_paths
    from . import shims

    shims.load()  # a wrapper of torch.compile's is opened by Python itself, which knows nothing of the folder
    definitions, includes, cflags, ldflags, folders, libraries, passed = options
    # torch_musa replaces headers of PyTorch's in its folder. Here they lie in another, which has to be searched first.
    first = [f"I{folder}" for folder in torch_headers.folders()]
    return (
        [*definitions, " USE_MUSA"],
        [*includes, *include_paths(True)],
        [*first, *cflags],
        ldflags,
        [*folders, *library_paths(True), str(shims.folder())],
        [*libraries, "musart", "musa_python", shims.LIBRARY.removeprefix("lib").removesuffix(".so")],
        passed,
    )
