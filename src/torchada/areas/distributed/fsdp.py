"""fully_shard with a gradient divisor set by the user: NCCL multiplies while it reduces, other libraries can only add."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch.distributed import ReduceOp

    from torchada.redirect.types import P

    Factors = tuple[float | None, float | None, ReduceOp | ReduceOp.RedOpType, ReduceOp | ReduceOp.RedOpType]

_FUNCTION, _ONLY_ADDING = "_get_gradient_divide_factors", "force_sum_reduction_for_comms"


def patches(context: Context) -> Iterator[Patch]:
    from torch.distributed.fsdp._fully_shard import _fsdp_collectives

    original = getattr(_fsdp_collectives, _FUNCTION)
    if _ONLY_ADDING not in inspect.signature(original).parameters:
        raise Skip("this torch does not support libraries that can only add")
    note, to = "FSDPModule.set_gradient_divide_factor", "a division after the reduction"
    yield Patch(_fsdp_collectives, _FUNCTION, _adding(context, original), None, to=to, note=note)


def _adding(context: Context, original: Callable[P, Factors]) -> Callable[P, Factors]:
    operators = context.torch.distributed.ReduceOp
    signature = inspect.signature(original)

    def factors(*args: P.args, **kwargs: P.kwargs) -> Factors:
        chosen = original(*args, **kwargs)
        if all(operator in (operators.SUM, operators.AVG) for operator in chosen[2:]):
            return chosen
        bound = signature.bind(*args, **kwargs)
        bound.arguments[_ONLY_ADDING] = True
        return original(*bound.args, **bound.kwargs)

    return disguise(factors, original)
