"""Inductor on the device: its C++ backend, whose kernels read and write the device's memory.

The vendor's backend uses Triton, which cannot run on the CPU here. This module is imported when Inductor is first used.
"""

from __future__ import annotations

__all__ = ["_init_inductor_backend_registration"]


def _init_inductor_backend_registration() -> None:
    """Register the backend with Inductor."""
    from torch._inductor.codegen.common import register_backend_for_device, register_device_op_overrides

    from .codegen.device_op_overrides import MUSADeviceOpOverrides
    from .codegen.scheduling import MUSACppScheduling
    from .codegen.wrapper import MUSAPythonWrapperCodegen

    register_device_op_overrides("musa", MUSADeviceOpOverrides())
    register_backend_for_device("musa", MUSACppScheduling, MUSAPythonWrapperCodegen)
