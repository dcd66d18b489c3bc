"""Which kernel runs: torch.library, dispatch keys, custom operators, the kernels of attention, operators overridden in C++."""

AREAS = {
    "torch": (
        "library",
        "keys",
        "cpp_ops",
        "out_dtype",
        "waiting",
        "fused_adam",
        "dtypes",
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
        "on_the_cpu",
    ),
    "torch._custom_op.impl": ("custom_op",),
    "torch.testing._internal.optests": ("opcheck",),
    "torch.nn.attention.flex_attention": ("flex_attention",),
    "torch.nested._internal.ops": ("jagged",),
}
