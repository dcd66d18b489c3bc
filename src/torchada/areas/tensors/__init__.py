"""Tensors and what holds them: devices, factories, methods, modules, storages, random state, checkpoints, sharing, DLPack."""

AREAS = {
    "torch": (
        "device",
        "device_views",
        "factories",
        "operators",
        "methods",
        "modules",
        "storages",
        "tensor_data",
        "legacy_types",
        "random",
        "random_grid",
        "serialization",
        "sharing",
        "dlpack",
        "pinned_memory",
    ),
    "torch.utils.checkpoint": ("checkpoint",),
}
