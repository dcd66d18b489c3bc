"""Intel's GPUs through torch.xpu, a part of PyTorch. It has to be asked for by name, and was not run on hardware."""

from __future__ import annotations

from torchada.backends.descriptor import Backend, Collectives, Graphs, Names, Native

_KEYS = ("", "Autograd", "Autocast", "Sparse", "SparseCsr", "Quantized", "NestedTensor")

XPU = Backend(
    name="xpu",
    device_type="xpu",
    adapter="torch.xpu",
    namespace="xpu",
    visible_devices="ZE_AFFINITY_MASK",
    names=Names(
        renames={
            "CUDAGraph": "XPUGraph",
            "CUDAPluggableAllocator": "XPUPluggableAllocator",
            "cuda_event": "sycl_event",
            "cuda_stream": "sycl_queue",
        },
        dispatch_keys={f"{key}CUDA": f"{key}XPU" for key in _KEYS},
    ),
    native=Native(module="torch._C", spellings={"_xpu_": "_cuda_", "_Xpu": "_Cuda", "XPU": "CUDA"}),
    collectives=Collectives(names={"nccl": "xccl"}),
    graphs=Graphs(),
)
