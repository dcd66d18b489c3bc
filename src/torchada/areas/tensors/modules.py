"""nn.Module.to, .cuda and the other methods that move a module's parameters.

Module.cuda needs no translation, because it calls Tensor.cuda, and neither does Module.to_empty, which calls torch.empty_like. The
area tensor_data sees to it that parameters stay the same objects.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.calls import positional
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.owners import Members


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    functions, uninitialized = torch._C._nn, torch.nn.parameter.UninitializedTensorMixin
    if not context.mechanism.native:
        parse = positional(functions._parse_to, context.devices, 0)
        yield Patch(functions, "_parse_to", parse, 'Module.to("cuda")')
    allowed, note = (
        Members(uninitialized, "_allowed_methods"),
        "lazy modules can be moved before their shapes are known",
    )
    for name in ("to", "cuda"):
        yield Patch(allowed, name, getattr(torch.Tensor, name), None, note=note)
