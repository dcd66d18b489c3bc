"""WHAT: nine wings, one for each part of torch, whose tables say which areas concern which module.

A wing's table `AREAS` maps a module to the names of its areas, in the order in which they are applied. An area is a function
`(context) -> patches`: `"memory"` is the function `patches` of the wing's file memory.py, `"lightning.older_fabric"` a function by
that name in a file that serves several modules. Areas are data: they return records, and the engine acts on them.
"""

# In this order where areas of several wings concern one module: later areas may use what earlier ones redirect.
WINGS = ("tensors", "cuda", "precision", "dispatch", "kernels", "compiler", "distributed", "native", "libraries")

# What TORCHADA_SKIP_AREAS may still call them, and what they are called now.
FORMER_NAMES = {
    "cuda.absent": "cuda.nvidia_only",
    "cuda.earlier": "cuda.legacy_names",
    "cuda.lacking": "cuda.unimplemented",
    "cuda.questions": "cuda.device_queries",
    "dispatch.on_the_cpu": "kernels.cpu_fallback",
    "dispatch.waiting": "kernels.host_synchronizing",
    "host.moves": "host.transfers",
    "host.questions": "host.device_queries",
    **{
        f"dispatch.{name}": f"kernels.{name}"
        for name in (
            "conjugates",
            "cpp_ops",
            "cross_entropy",
            "dtypes",
            "elementwise",
            "embedding_bag",
            "flash_attention",
            "fused_adam",
            "interpolation",
            "jagged",
            "nested",
            "nested_kernels",
            "out_dtype",
            "sparse_kernels",
            "strides",
            "transforms",
        )
    },
}
