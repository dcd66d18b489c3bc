"""torch.distributed: process groups named "nccl", device meshes, data parallelism, launchers, remote calls."""

AREAS = {
    "torch": (
        "names",
        "groups",
        "variables",
        "options",
        "nan_check",
        "nccl_group",
        "works",
        "barrier",
        "gloo",
        "scaled_sums",
        "mesh",
        "data_parallel",
        "rpc",
        "symmetric_memory",
    ),
    "torch.distributed.argparse_util": ("launch",),
    "torch.distributed.tensor.experimental._context_parallel._attention": ("context_parallel",),
    "torch.distributed._symmetric_memory": ("fused_products", "shared_sums"),
    "torch.numa.binding": ("numa",),
    "torch.distributed.fsdp._fully_shard._fsdp_collectives": ("fsdp",),
    "torch.distributed.fsdp._fully_shard._fsdp_param_group": ("fsdp_meshes.parameters",),
    "torch.distributed.fsdp._fully_shard._fsdp_state": ("fsdp_meshes.states",),
    "torch.distributed.nn.jit.templates.remote_module_template": ("remote_module.forward",),
    "torch.distributed.nn.api.remote_module": ("remote_module.construction",),
}
