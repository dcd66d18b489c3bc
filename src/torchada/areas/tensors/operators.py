"""torch.ops.aten.zeros(..., device="cuda"): operators called by their own names, whose binding parses device strings itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

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


def _call(context: Context, original: Callable[..., Any], schemas: Callable[[Any], list[Any]]) -> Callable[..., Any]:
    """`original` with strings translated where the schema has a device; a custom operator may take other strings."""
    translate = context.devices.translate
    # To ask for schemas costs more than the call. A packet that gets another overload is the same, and its _op is not.
    places = cache(lambda op, _: _places(schemas(op)))

    def __call__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        # Most calls have no string at all, and pay for this look alone.
        for value in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(value, str):
                of_devices = places(self, self._op)
                if of_devices:
                    args = tuple(translate(value) if place in of_devices else value for place, value in enumerate(args))
                    kwargs = {name: translate(value) if name in of_devices else value for name, value in kwargs.items()}
                break
        return original(self, *args, **kwargs)

    return disguise(__call__, original)


def _places(schemas: list[Any]) -> set[int | str]:
    """Positions and names of arguments that are devices, in any of the overloads."""
    arguments = [found for schema in schemas for found in enumerate(schema.arguments) if str(found[1].type) in _DEVICE]
    return {place for place, _ in arguments} | {argument.name for _, argument in arguments}
