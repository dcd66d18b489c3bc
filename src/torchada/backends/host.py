"""The CPU under the name of CUDA, for CUDA code on a machine without an accelerator. It has to be asked for by name."""

from __future__ import annotations

from torchada.backends.descriptor import Backend, Collectives, Names

HOST = Backend(
    name="host",
    device_type="cuda",
    adapter="torch_host",
    namespace="host",
    visible_devices="HOST_VISIBLE_DEVICES",
    names=Names(
        dispatch_keys={
            "CUDA": "CPU",
            "AutogradCUDA": "AutogradCPU",
            "AutocastCUDA": "AutocastCPU",
            "SparseCUDA": "SparseCPU",
            "SparseCsrCUDA": "SparseCsrCPU",
            "QuantizedCUDA": "QuantizedCPU",
            "NestedTensorCUDA": "NestedTensorCPU",
        }
    ),
    collectives=Collectives(names={"nccl": "host"}),
    computes_on="cpu",
    wing="torchada.areas.host",
)
