"""The memory format of a convolution's result, for torch.compile, which assumes that it is contiguous on such a device."""

from __future__ import annotations

from typing import Any

import torch


def install() -> None:
    native: Any = torch._C
    determine = native._conv_determine_backend_memory_format
    if determine.__module__ == __name__:
        return

    def _conv_determine_backend_memory_format(input: Any, weight: Any, backend: Any) -> Any:
        # The kernels are the CPU's, so the device has the CPU's preferences.
        return determine(input, weight, native._ConvBackend.Mkldnn if input.device.type == "musa" else backend)

    native._conv_determine_backend_memory_format = _conv_determine_backend_memory_format
