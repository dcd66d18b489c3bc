"""nn.Module.to, .cuda and whatever else moves a module's parameters.

Module.cuda needs no translation, it calls Tensor.cuda; nor does Module.to_empty, it calls torch.empty_like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise, positional
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    functions, module, uninitialized = torch._C._nn, torch.nn.Module, torch.nn.parameter.UninitializedTensorMixin
    if not context.mechanism.native:
        parse = positional(functions._parse_to, context.devices, 0)
        yield Patch(functions, "_parse_to", parse, 'Module.to("cuda")')
    yield Patch(
        module, "_apply", _apply(context, module._apply), "a parameter that moves to the device stays the object it is"
    )
    allowed = [*uninitialized._allowed_methods, torch.Tensor.to, torch.Tensor.cuda]
    yield Patch(uninitialized, "_allowed_methods", allowed, "lazy modules move before they know their shapes")


def _apply(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    """Module._apply that keeps the identity of parameters, as it is kept on the way from CPU to CUDA.

    PyTorch gives a parameter new data in place only between the device types it lists as dense, and PrivateUse1 is not among
    them: optimizers would hold on to the old parameters, and tied weights would come apart, without a word.
    """
    torch = context.torch
    swap, compiling = torch.utils.swap_tensors, torch.compiler.is_compiling

    def _apply(self: Any, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        if not self._parameters:  # as of most modules; this is called for every one
            return original(self, fn, recurse)
        before = dict(self._parameters)
        result = original(self, fn, recurse)
        for name, parameter in before.items():
            moved = self._parameters[name]
            if moved is parameter or moved is None or compiling():
                continue
            # Its class and attributes are swapped too, and are to stay what they were.
            moved.__class__ = parameter.__class__
            vars(moved).update(vars(parameter))
            try:
                swap(parameter, moved)
            except RuntimeError:
                continue  # somebody holds the tensor itself (a graph, a weak reference): a new parameter it is
            self._parameters[name] = parameter
        return result

    return disguise(_apply, original)
