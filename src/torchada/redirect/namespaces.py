"""Where torch keeps the functions it implements in C, which of them take a device, and every place that holds one of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from types import BuiltinFunctionType, ModuleType
from typing import Any

# Modules of torch._C beside the class of torch's own functions; looked up, for not every torch has each.
_MODULES = ("_nn", "_fft", "_linalg", "_nested", "_sparse", "_special")
# These take a device, but there is no operator whose schema would say so.
_WITHOUT_SCHEMA = frozenset({"asarray", "nested_tensor"})


def device_functions(torch: Any) -> Iterator[tuple[Any, str, Any]]:
    """Yield (namespace, name, function) for every C function of the installed torch that takes a `device` keyword."""
    namespaces = [torch._C._VariableFunctionsClass, *(getattr(torch._C, name, None) for name in _MODULES)]
    for namespace in filter(None, namespaces):
        for name in vars(namespace):
            function = getattr(namespace, name)
            if isinstance(function, BuiltinFunctionType) and takes_device(torch, name):
                yield namespace, name, function


@cache  # most methods of tensors share the name of a function, and asking for schemas takes ten microseconds
def takes_device(torch: Any, name: str) -> bool:
    """Whether the C function or method `name` takes a device, according to the schemas of its operator."""
    if name in _WITHOUT_SCHEMA:
        return True
    if name.startswith("__"):
        return False
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    return any(argument.name == "device" for schema in schemas for argument in schema.arguments)


def device_position(torch: Any, name: str) -> int | None:
    """The position of the device among the arguments of the C function `name`; None for most, which take it by keyword."""
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        for position, argument in enumerate(schema.arguments):
            if argument.name == "device" and not argument.kwarg_only:
                return position
    return None


def holders(originals: dict[int, Any]) -> Iterator[tuple[ModuleType, str, Any]]:
    """Yield (module, name, value) for every global of any module that is one of `originals` (a dictionary by id).

    `from torch import zeros` before the hook came leaves such globals behind.
    """
    for module in list(sys.modules.values()):
        entries = getattr(module, "__dict__", None)
        if type(entries) is dict and _holds_one_of(originals, entries):
            for name, value in list(entries.items()):
                if id(value) in originals:
                    yield module, name, value


def _holds_one_of(originals: dict[int, Any], entries: dict[str, Any]) -> bool:
    # A process with torch has tens of thousands of globals, so this loop runs in C.
    return not originals.keys().isdisjoint(map(id, list(entries.values())))


def forget_functions() -> None:
    """Empty the caches in which torch keeps functions; torch fills them again from what is in place then."""
    device_contexts: Any = sys.modules.get("torch.utils._device")
    if device_contexts is not None:
        device_contexts._device_constructors.cache_clear()  # the functions that `with torch.device(...)` affects
    trace_rules: Any = sys.modules.get("torch._dynamo.trace_rules")
    if trace_rules is not None:
        trace_rules.clear_lru_cache()  # the functions that torch.compile puts into its graphs unchanged
