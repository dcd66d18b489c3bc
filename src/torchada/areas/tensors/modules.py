"""nn.Module.to, .cuda and whatever else moves a module's parameters.

Module.cuda needs no translation, it calls Tensor.cuda; nor does Module.to_empty, it calls torch.empty_like. That parameters stay
the objects they are is the work of the area tensor_data.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.calls import positional
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    functions, uninitialized = torch._C._nn, torch.nn.parameter.UninitializedTensorMixin
    if not context.mechanism.native:
        parse = positional(functions._parse_to, context.devices, 0)
        yield Patch(functions, "_parse_to", parse, 'Module.to("cuda")')
    allowed = [*uninitialized._allowed_methods, torch.Tensor.to, torch.Tensor.cuda]
    yield Patch(
        uninitialized, "_allowed_methods", allowed, None, note="lazy modules move before they know their shapes"
    )
