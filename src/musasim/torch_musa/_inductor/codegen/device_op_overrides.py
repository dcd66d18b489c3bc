"""The device's names in generated Python code."""

from __future__ import annotations

from torch._inductor.codegen.common import DeviceOpOverrides


class MUSADeviceOpOverrides(DeviceOpOverrides):
    """Lines of source for operations whose names depend on the device."""

    def import_get_raw_stream_as(self, name: str) -> str:
        """The native pointer of the current stream."""
        return f"from torch_musa._MUSAC import _musa_getCurrentRawStream as {name}"

    def set_device(self, device_idx: int) -> str:
        """Make a device current."""
        return f"torch.musa.set_device({device_idx})"

    def synchronize(self) -> str:
        """Wait for the current device."""
        return "torch.musa.synchronize()"

    def device_guard(self, device_idx: int) -> str:
        """A device made current inside a block."""
        return f"torch.musa._DeviceGuard({device_idx})"

    def current_stream(self) -> str:
        """The current stream."""
        return "torch.musa.current_stream()"

    def cpp_device_guard(self) -> str:
        """The class that makes a device current in C++."""
        return "c10::musa::MUSAGuard"

    def cpp_aoti_device_guard(self) -> str:
        """The same for a library of AOTInductor, which knows PyTorch's C functions alone."""
        return "AOTIMusaGuard"

    def cpp_stream_guard(self) -> str:
        """The class that makes a stream current in C++."""
        return "c10::musa::MUSAStreamGuard"

    def cpp_aoti_stream_guard(self) -> str:
        """The same for a library of AOTInductor."""
        return "AOTIMusaStreamGuard"

    def cpp_stream_type(self) -> str:
        """The type of a stream in C++."""
        return "musaStream_t"

    def aoti_get_stream(self) -> str:
        """The C function that returns the current stream."""
        return "aoti_torch_get_current_musa_stream"

    def cpp_kernel_type(self) -> str:
        """The type of a kernel that was loaded from a binary."""
        return "MUfunction"

    def cpp_device_ptr(self) -> str:
        """The type of an address of the device."""
        return "MUdeviceptr"

    def aten_device_type(self) -> str:
        """The device's type in C++. Up to torch 2.14, a table of Inductor says it."""
        return "at::kPrivateUse1"
