"""The wing of the platform `host`: CUDA code on a machine without an accelerator, where "cuda" is a name for the CPU.

A torch.device("cuda") stays what it is, and is translated where torch is asked to do something with it. Every tensor is the
CPU's; code that sees CUDA sees it on cuda:0, unless the program has put it elsewhere (`_places.py`).
"""

AREAS = {
    "torch": (
        "devices",
        "generators",
        "factories",
        "transfers",
        "device_queries",
        "modules",
        "random",
        "checkpoints",
        "pinning",
        "groups",
        "parallel",
        "autocast",
        "streams",
        "optimizers",
        "batch_norm",
    ),
    "torch._dynamo": ("compiled",),
}

# For a device of its own, whose objects and tensors show where they are.
REPLACES = frozenset(
    {
        "tensors.device",
        "tensors.device_views",
        "tensors.factories",
        "tensors.methods",
        "tensors.modules",
        "tensors.storages",
        "tensors.tensor_data",
        "tensors.random",
        "tensors.nested",
        "tensors.serialization",
        "tensors.sharing",
        "tensors.dlpack",
        "tensors.pinned_memory",
        "compiler.jit",
        "compiler.script_archives",
        "compiler.dynamo",
        "compiler.device_interface",
        "compiler.autograd_cache",
        "compiler.inductor_devices",
        "compiler.inductor_graphs",
        "compiler.inductor_caches",
        "compiler.export",
        "cuda.accelerator",
        "cuda.profiler",
        "cuda.streams",
        "kernels.host_synchronizing",
        "native.runtime",
        "native.cdll",
        "native.cpp_extension",
    }
)
