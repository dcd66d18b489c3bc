"""Inductor on the device: its C++ backend, whose kernels read and write the device's memory, or Triton as on a device.

The vendor's backend generates Triton kernels. So does this one under MUSASIM_INDUCTOR=triton; they are then interpreted, which is
much slower than C++ for large tensors. This module is imported when Inductor is first used.
"""

from __future__ import annotations

__all__ = ["_init_inductor_backend_registration"]


def _init_inductor_backend_registration() -> None:
    """Register the backend with Inductor."""
    from torch._inductor.codegen.common import register_backend_for_device, register_device_op_overrides

    from .._vendor_torch.compiler import generates_triton
    from .codegen.device_op_overrides import MUSADeviceOpOverrides

    register_device_op_overrides("musa", MUSADeviceOpOverrides())
    if generates_triton():
        from .codegen.triton import MUSATritonScheduling
        from .codegen.wrapper import MUSATritonWrapperCodegen, RefusedCppWrapper

        register_backend_for_device("musa", MUSATritonScheduling, MUSATritonWrapperCodegen, RefusedCppWrapper)
    else:
        from .codegen.cpp_wrapper import MUSACppWrapper
        from .codegen.scheduling import MUSACppScheduling
        from .codegen.wrapper import MUSAPythonWrapperCodegen

        register_backend_for_device("musa", MUSACppScheduling, MUSAPythonWrapperCodegen, MUSACppWrapper)
