"""Which kernel runs where the backend has none, or a wrong one: attention, nested and sparse tensors, data types, overrides."""

AREAS = {
    "torch": (
        "cpp_ops",
        "out_dtype",
        "host_synchronizing",
        "fused_adam",
        "dtypes",
        "factorizations",
        "embedding_bag",
        "interpolation",
        "transforms",
        "conjugates",
        "elementwise",
        "strides",
        "cross_entropy",
        "flash_attention",
        "nested",
        "nested_kernels",
        "sparse_kernels",
        "cpu_fallback",
        "scripted_autocast",
    ),
    "torch.nested._internal.ops": ("jagged",),
}
