"""ReduceOp.PREMUL_SUM, by which NCCL multiplies while it adds (Megatron's FSDP does). Other libraries get the products to add."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch import Tensor

    Factor = float | Tensor
    Scaling = Callable[[Any, Any, Any, Factor], Any]

_API, _TO = "torch.distributed.ReduceOp.PREMUL_SUM", "a product, and then a sum"


def patches(context: Context) -> Iterator[Patch]:
    distributed = context.torch.distributed
    if not distributed.is_available() or not hasattr(distributed.ReduceOp, "PREMUL_SUM"):
        raise Skip("this torch has no ReduceOp.PREMUL_SUM")
    group = distributed.ProcessGroup
    for name, scaling in _METHODS.items():
        if name in vars(group):  # some are newer than others
            summing = _summing(context, vars(group)[name], 1 if scaling is _copied else 0, scaling)
            yield Patch(group, name, summing, None, "emulated", _TO, note=_API)


def _summing(context: Context, original: Callable[..., Any], position: int, scaling: Scaling) -> Callable[..., Any]:
    """`original`, a method of ProcessGroup, whose inputs are at `position` and are followed by options or an operator."""
    operators = context.torch.distributed.ReduceOp
    device_type = context.backend.computes_on or context.backend.device_type
    scaled, after = operators.PREMUL_SUM, position + 1

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        options: Any = args[after] if len(args) > after else kwargs.get("opts")
        operator = getattr(options, "reduceOp", options)
        if operator != scaled or _first(args[position]).device.type != device_type:
            return original(self, *args, **kwargs)
        args = (*args[:position], scaling(self, args[position], options, operator.__getstate__()[1]), *args[after:])
        if options is operator:
            return original(self, *args[:after], operators.SUM, *args[after + 1 :], **kwargs)
        kept = copy(operator)  # which is a part of the options
        options.reduceOp = operators.SUM
        try:
            return original(self, *args, **kwargs)
        finally:
            options.reduceOp = kept

    return disguise(call, original)


def _first(inputs: Any) -> Tensor:
    while isinstance(inputs, list | tuple):
        inputs = inputs[0]
    first: Tensor = inputs
    return first


def _in_place(group: Any, inputs: Any, options: Any, factor: Factor) -> Any:
    """The result replaces the inputs in any case."""
    for tensor in inputs if isinstance(inputs, list | tuple) else (inputs,):
        tensor.detach().mul_(factor)
    return inputs


def _copied(group: Any, inputs: Any, options: Any, factor: Factor) -> Any:
    """The inputs stay as they are."""
    if isinstance(inputs, list | tuple):
        return [_copied(group, part, options, factor) for part in inputs]
    return inputs.detach() * factor


def _at_the_root(group: Any, inputs: Any, options: Any, factor: Factor) -> Any:
    """The result replaces the inputs of one rank; those of the others stay."""
    return (_in_place if group.rank() == options.rootRank else _copied)(group, inputs, options, factor)


_METHODS: dict[str, Scaling] = {
    "allreduce": _in_place,
    "allreduce_coalesced": _in_place,
    "reduce": _at_the_root,
    "reduce_scatter": _copied,
    "_reduce_scatter_base": _copied,
    "reduce_scatter_single": _copied,
    "reduce_scatter_single_coalesced": _copied,
    "reduce_scatter_tensor_coalesced": _copied,
}
