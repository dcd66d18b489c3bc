"""torch.ops.aten.zeros(..., device="cuda"): operators that are called by name; their binding parses device strings itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch import FunctionSchema
    from torch._ops import OpOverload, OpOverloadPacket

    from torchada.redirect.types import AnyFunction

    Operator: TypeAlias = OpOverload[..., object] | OpOverloadPacket[..., object]

_DEVICE = frozenset({"Device", "Optional[Device]"})


def patches(context: Context) -> Iterator[Patch]:
    if context.mechanism.native:
        raise Skip("PyTorch's own parser translates the device strings of these calls")
    schemas_of = context.torch._C._jit_get_schemas_for_operator
    overload, packet = context.torch._ops.OpOverload, context.torch._ops.OpOverloadPacket
    for owner, schemas in (
        (overload, lambda op: [op._schema]),
        (packet, lambda op: schemas_of(op._qualified_op_name)),
    ):
        call = _call(context, owner.__call__, schemas)
        yield Patch(owner, "__call__", call, 'torch.ops.<namespace>.<operator>(device="cuda")')


def _call(context: Context, original: AnyFunction, schemas: Callable[[Operator], list[FunctionSchema]]) -> AnyFunction:
    """`original` with strings translated where the schema has a device. A custom operator may take other strings as well."""
    translate = context.devices.translate
    # Devices of CUDA's type exist where they are a name for another device.
    concerned = str if context.backend.computes_on is None else (str, context.torch.device)
    # Looking up schemas costs more than the call. A packet that gets another overload stays the same object, but its _op changes.
    places = cache(lambda op, _: _places(schemas(op)))

    def __call__(self: Operator, /, *args: object, **kwargs: object) -> object:
        # Most calls have no such value at all, and pay for this loop alone.
        for value in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(value, concerned):
                of_devices = places(self, self._op)
                if of_devices:
                    args = tuple(translate(value) if place in of_devices else value for place, value in enumerate(args))
                    kwargs = {name: translate(value) if name in of_devices else value for name, value in kwargs.items()}
                break
        return original(self, *args, **kwargs)

    return disguise(__call__, original)


def _places(schemas: list[FunctionSchema]) -> set[int | str]:
    """Positions and names of arguments that are devices, in any of the overloads."""
    arguments = [
        numbered for schema in schemas for numbered in enumerate(schema.arguments) if str(numbered[1].type) in _DEVICE
    ]
    return {place for place, _ in arguments} | {argument.name for _, argument in arguments}
