"""The device's interface for torch._dynamo and Inductor."""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.device_interface import (
    DeviceInterface,
    caching_worker_current_devices,
    caching_worker_device_properties,
    register_interface_for_device,
)

from .. import _MUSAC, torch_musa


class MusaInterface(DeviceInterface):
    """The functions of torch.musa, under the names that torch.compile uses for every device."""

    device = torch_musa.device
    Event = torch_musa.Event
    Stream = torch_musa.Stream

    class Worker:
        """The facts that the main process recorded before it forked compile workers, which must not touch the device."""

        @staticmethod
        def set_device(device: int) -> None:
            caching_worker_current_devices["musa"] = device

        @staticmethod
        def current_device() -> int:
            if "musa" in caching_worker_current_devices:
                return caching_worker_current_devices["musa"]
            return int(torch_musa.current_device())

        @staticmethod
        def get_device_properties(device: Any = None) -> Any:
            index = torch.device(device).index if isinstance(device, (str, torch.device)) else device
            if index is None:
                index = MusaInterface.Worker.current_device()
            if "musa" not in caching_worker_device_properties:
                every = range(torch_musa.device_count())
                caching_worker_device_properties["musa"] = [torch_musa.get_device_properties(i) for i in every]
            return caching_worker_device_properties["musa"][index]

    current_device = staticmethod(torch_musa.current_device)
    set_device = staticmethod(torch_musa.set_device)
    device_count = staticmethod(torch_musa.device_count)
    stream = staticmethod(torch_musa.stream)
    current_stream = staticmethod(torch_musa.current_stream)
    set_stream = staticmethod(torch_musa.set_stream)
    _set_stream_by_id = staticmethod(torch_musa._set_stream_by_id)
    synchronize = staticmethod(torch_musa.synchronize)
    get_device_properties = staticmethod(torch_musa.get_device_properties)
    get_raw_stream = staticmethod(_MUSAC._musa_getCurrentRawStream)
    exchange_device = staticmethod(torch_musa._exchange_device)
    maybe_exchange_device = staticmethod(torch_musa._maybe_exchange_device)
    memory_allocated = staticmethod(torch_musa.memory_allocated)

    @staticmethod
    def is_available() -> bool:
        """Whether there is a device."""
        return bool(torch_musa.is_available())

    @staticmethod
    def get_compute_capability(device: Any = None) -> int:
        """Major and minor number as one number, such as 31."""
        major, minor = torch_musa.get_device_capability(device)
        return int(major * 10 + minor)

    @staticmethod
    def is_triton_capable(device: Any = None) -> bool:
        """Whether Triton kernels run on the device, which is a matter of the backend alone."""
        return True

    @staticmethod
    def raise_if_triton_unavailable(device: Any = None) -> None:
        """Raise RuntimeError where the installed Triton has no backend for the device."""
        import triton.backends

        if not {"musa", "mtgpu", "mthreads"} & set(triton.backends.backends):
            raise RuntimeError("triton not built with the 'musa' backend")

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        """Whether bfloat16 works on the device in any way, whatever `including_emulation` says."""
        return bool(torch_musa.is_bf16_supported())


def register() -> None:
    """Register the interface with torch._dynamo: for the device type now, for each device on the first query."""
    import torch._dynamo.device_interface as interfaces

    register_interface_for_device("musa", MusaInterface)
    name_torchs_own = interfaces.init_device_reg

    def init_device_reg() -> None:
        name_torchs_own()
        # The vendor does this at import. Counting the devices would make them unusable in forked children.
        for index in range(torch_musa.device_count()):
            register_interface_for_device(f"musa:{index}", MusaInterface)

    interfaces.init_device_reg = init_device_reg
