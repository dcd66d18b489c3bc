"""How operators are registered and found: torch.library, dispatch keys, custom operators, flex attention."""

AREAS = {
    "torch": ("library", "keys"),
    "torch._custom_op.impl": ("custom_op",),
    "torch.testing._internal.optests": ("opcheck",),
    "torch.nn.attention.flex_attention": ("flex_attention",),
}
