"""nn.Module.to and everything else that reads its arguments as Module.to does (PackedSequence.to, ScriptModule.to).

Module.cuda and Module.to_empty need nothing of their own: they call Tensor.cuda and torch.empty_like.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.calls import positional
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    if context.mechanism.native:
        raise Skip("PyTorch's own parser translates the device strings of these calls")
    functions = context.torch._C._nn
    yield Patch(functions, "_parse_to", positional(functions._parse_to, context.devices, 0), 'Module.to("cuda")')
