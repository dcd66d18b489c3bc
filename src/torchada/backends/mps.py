"""Apple's GPUs through torch.mps, a part of PyTorch. It has to be asked for by name, and was not run on hardware.

There is one device, without streams, graphs, peers and collectives; what torch.mps lacks is refused by name.
"""

from __future__ import annotations

from torchada.backends.descriptor import Backend, Names

MPS = Backend(
    name="mps",
    device_type="mps",
    adapter="torch.mps",
    namespace="mps",
    visible_devices="",
    names=Names(
        renames={
            "manual_seed_all": "manual_seed",
            "memory_allocated": "current_allocated_memory",
            "memory_reserved": "driver_allocated_memory",
            "seed_all": "seed",
        },
        dispatch_keys={
            "CUDA": "MPS",
            "AutogradCUDA": "AutogradMPS",
            "AutocastCUDA": "AutocastMPS",
            "SparseCUDA": "SparseMPS",
            "SparseCsrCUDA": "SparseCsrMPS",
        },
    ),
    single=True,
)
