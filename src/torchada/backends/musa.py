"""Moore Threads GPUs through torch_musa."""

from __future__ import annotations

from torchada.backends.descriptor import Backend

MUSA = Backend(
    name="musa",
    device_type="musa",
    adapter="torch_musa",
    namespace="musa",
    visible_devices="MUSA_VISIBLE_DEVICES",
    collectives={"nccl": "mccl"},
    dispatch_keys={
        "CUDA": "PrivateUse1",
        "AutogradCUDA": "AutogradPrivateUse1",
        "AutocastCUDA": "AutocastPrivateUse1",
        "SparseCUDA": "SparsePrivateUse1",
        "SparseCsrCUDA": "SparseCsrPrivateUse1",
        "QuantizedCUDA": "QuantizedPrivateUse1",
        "NestedTensorCUDA": "NestedTensorPrivateUse1",
    },
    # torch_musa 2.7.1; see docs/compatibility.md for the names that exist on one side only.
    renames={
        "CUDAGraph": "MUSAGraph",
        "CUDAPluggableAllocator": "MUSAPluggableAllocator",
        "CudaError": "MusaError",
        "cudart": "musart",
        "nccl": "mccl",
    },
    dnn="mudnn",
    simulator="musasim",
)
