"""The cache of graphs for autograd: a graph that calls C functions of torch may be kept even if ours have replaced them.

torch trusts the name of a C function, and looks for any other function in a list.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_LIST = "torch_non_c_binding_in_graph_functions"


def patches(context: Context) -> Iterator[Patch]:
    if context.mechanism.native:
        raise Skip("PyTorch's own parser translates device strings: no C function is replaced")
    from torch._dynamo.trace_rules import torch_c_binding_in_graph_functions
    from torch._functorch._aot_autograd import autograd_cache

    # Torch's own first, which is what is written to: both stay what they are, and what is added to them counts.
    known = ChainMap(getattr(autograd_cache, _LIST), torch_c_binding_in_graph_functions)
    yield Patch(autograd_cache, _LIST, known, None, note="the functions that a kept graph may call")
