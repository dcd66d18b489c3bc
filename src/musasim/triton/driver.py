"""The driver: which device, stream and target are current, in the words of Moore Threads' driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from musasim.triton.device import device_properties, max_threads, musa_module
from musasim.triton.launcher import MusaLauncher

__all__ = ["MusaDriver", "MusaUtils"]

# A warp of the chips before MP_31 has 128 threads.
_WARP_SIZE_BEFORE_3 = 128
# What triton.testing.do_bench clears between two runs, to empty a GPU's cache. Here it would only take time.
_CACHE_BYTES = 1 << 16


def _timed_once(
    launch: Callable[[], object], quantiles: Sequence[float] | None = None, **repetitions: object
) -> float | list[float]:
    """How many milliseconds `launch` takes, the second time, as `triton.testing.do_bench` would answer.

    That function launches eight times or more. Here the times say nothing of a chip, so that more than one is only waiting.
    """
    launch()
    begin = time.perf_counter()
    launch()
    elapsed = 1e3 * (time.perf_counter() - begin)
    return elapsed if quantiles is None else [elapsed] * len(quantiles)


class MusaUtils:
    """What Triton asks of the driver's C part."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Limits of `device`, under Triton's names."""
        return device_properties(device)

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[Any, ...]:
        """The module, the function, registers, spills and (from Triton 3.4 on) the largest number of threads."""
        import triton

        loaded = (kernel, id(kernel), 0, 0, max_threads(device))
        return loaded[:4] if triton.__version__.startswith("3.3.") else loaded

    def unload_module(self, module: object) -> None:
        """Forget what `load_binary` has loaded; from Triton 3.9 on, a kernel does when it is deleted. Nothing is held here."""


class MusaDriver(DriverBase):  # type: ignore[misc]
    """The driver of the simulated devices."""

    launcher_cls = MusaLauncher

    def __init__(self) -> None:
        super().__init__()
        self.utils = MusaUtils()
        musa = musa_module()
        self.get_device_capability = musa.get_device_capability
        self.get_current_stream = musa._MUSAC._musa_getCurrentRawStream
        self.get_current_device = musa.current_device
        self.set_current_device = musa.set_device

    @staticmethod
    def is_active() -> bool:
        """Whether there is a device."""
        try:
            import torch
            import torch_musa
        except ImportError:
            return False
        return bool(getattr(torch_musa, "__simulated__", False) and torch.musa.is_available())  # type: ignore[attr-defined]

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The name of a type in C++. Nothing is compiled here, but programs that generate C++ ask."""
        if ty.startswith("*"):
            return "MUdeviceptr"
        names = {
            "i1": "int8_t",
            "fp16": "double",
            "bf16": "double",
            "fp32": "double",
            "f32": "double",
            "fp64": "double",
        }
        return names.get(ty) or ("u" if ty.startswith("u") else "") + f"int{ty.lstrip('iu')}_t"

    def get_current_target(self) -> GPUTarget:
        """The current device's architecture: ("musa", 31, 32) for an MTT S5000."""
        major, minor = self.get_device_capability(self.get_current_device())
        return GPUTarget("musa", major * 10 + minor, 32 if major > 2 else _WARP_SIZE_BEFORE_3)

    def get_active_torch_device(self) -> Any:
        """The current device, as torch names it."""
        import torch

        return torch.device("musa", self.get_current_device())

    def get_device_interface(self) -> Any:
        """torch.musa."""
        return musa_module()

    def get_benchmarker(self) -> Any:
        """The function with which autotune times a launch."""
        return _timed_once

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer that is cleared between two timed runs."""
        import torch

        return torch.empty(_CACHE_BYTES // 4, dtype=torch.int, device="musa")

    def clear_cache(self, cache: Any) -> None:
        """Clear that buffer."""
        cache.zero_()

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Any) -> Any:
        """Up to Triton 3.3: descriptors of tensors need nothing more here."""
        return args
