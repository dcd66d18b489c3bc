"""torch.compile's second half on the device: Inductor's C++ backend, whose kernels read and write the device's memory.

The vendor's is made with Triton, which has no CPU to run on here. Imported when Inductor is first used.
"""

from __future__ import annotations

__all__ = ["_init_inductor_backend_registration"]


def _init_inductor_backend_registration() -> None:
    """Name the backend to Inductor."""
    from torch._inductor.codegen.common import register_backend_for_device, register_device_op_overrides

    from .codegen.device_op_overrides import MUSADeviceOpOverrides
    from .codegen.scheduling import MUSACppScheduling
    from .codegen.wrapper import MUSAPythonWrapperCodegen

    register_device_op_overrides("musa", MUSADeviceOpOverrides())
    register_backend_for_device("musa", MUSACppScheduling, MUSAPythonWrapperCodegen)
