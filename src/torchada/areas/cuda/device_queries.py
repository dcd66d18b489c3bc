"""What programs ask before they use a device: is this torch built for devices, and how many are there?

vLLM and SGLang ask private functions of torch.cuda and torch._C, in processes that fork later. `is_available` is another question,
because programs tell platforms apart by it: see `availability`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    cuda, native = context.torch.cuda, context.torch._C
    if not hasattr(native, "_cuda_getDeviceCount") or not hasattr(native, "_cuda_getCurrentRawStream"):
        raise Skip(f"{context.backend.adapter} has no C functions that code for a build with CUDA calls")
    yield Patch(cuda, "_is_compiled", disguise(_yes, cuda._is_compiled), "torch.cuda._is_compiled", kind="emulated")
    listed = _device_count_nvml(context, cuda._device_count_nvml)
    yield Patch(cuda, "_device_count_nvml", listed, "torch.cuda._device_count_nvml")


def _yes() -> bool:
    return True


def _device_count_nvml(context: Context, original: Callable[[], int]) -> Callable[[], int]:
    """Without the management library, torch's answer is -1, and its callers then ask the runtime; not all programs do."""
    listed = original if context.backend.management else None

    def _device_count_nvml() -> int:
        count = -1 if listed is None else listed()
        return count if count >= 0 else int(context.torch.cuda.device_count())

    return disguise(_device_count_nvml, original)
