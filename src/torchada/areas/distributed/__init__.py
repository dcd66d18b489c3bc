"""torch.distributed: process groups named "nccl", device meshes, data parallelism, launchers, remote calls."""

AREAS = {
    "torch": (
        "names",
        "groups",
        "variables",
        "options",
        "barrier",
        "scaled_sums",
        "mesh",
        "data_parallel",
        "rpc",
        "symmetric_memory",
    ),
    "torch.distributed.argparse_util": ("launch",),
    "torch.distributed.fsdp._fully_shard._fsdp_collectives": ("fsdp",),
    "torch.distributed.nn.jit.templates.remote_module_template": ("remote_module.forward",),
    "torch.distributed.nn.api.remote_module": ("remote_module.construction",),
}
