"""Where torch keeps the functions it implements in C, which of them take a device, and every place that holds one of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
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
    if name.startswith("__") or name in _without_device(torch._C):
        return False
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    return any(argument.name == "device" for schema in schemas for argument in schema.arguments)


@cache
def _without_device(binding: Any) -> frozenset[str]:
    """Names of torch's own functions that take no device according to its stubs.

    The stubs are written when torch is built, from the declarations that its C functions are made from. Reading them takes a
    tenth of the time that asking for the schemas of all these functions does. None where there are no stubs, or where they do
    not say of torch.zeros that it takes a device: the schemas are then asked for everything.
    """
    try:
        text = Path(str(binding.__file__)).with_name("_C").joinpath("_VariableFunctions.pyi").read_bytes()
    except OSError:
        return frozenset()
    taking = set(_with_device(text))
    return frozenset(vars(binding._VariableFunctionsClass)) - taking if "zeros" in taking else frozenset()


def _with_device(stubs: bytes) -> Iterator[str]:
    """The name of the function around each "device:"."""
    at = stubs.find(b"device:")
    while at >= 0:
        name = stubs.rfind(b"\ndef ", 0, at) + len(b"\ndef ")
        yield stubs[name : stubs.find(b"(", name)].decode()
        at = stubs.find(b"device:", at + 1)


def device_position(torch: Any, name: str) -> int | None:
    """The position of the device among the arguments of the C function `name`; None for most, which take it by keyword."""
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        for position, argument in enumerate(schema.arguments):
            if argument.name == "device" and not argument.kwarg_only:
                return position
    return None


def holders(originals: Iterable[object]) -> Iterator[tuple[ModuleType, str, Any]]:
    """Yield (module, name, value) for every global of any module that is one of `originals`.

    `from torch import zeros` before the hook came leaves such globals behind.
    """
    every = [(module, getattr(module, "__dict__", None)) for module in list(sys.modules.values())]
    modules = [(module, entries) for module, entries in every if type(entries) is dict]
    for number, name, value in _find()([entries for _, entries in modules], list(originals)):
        yield modules[number][0], name, value


def modules_with(package: str, name: str) -> Iterator[tuple[ModuleType, Any]]:
    """Yield (module, value) for every imported module of `package` that has a global `name`."""
    for path, module in list(sys.modules.items()):
        if path.startswith(f"{package}.") and name in vars(module):
            yield module, vars(module)[name]


Find = Callable[[list[dict[str, Any]], list[object]], list[tuple[int, str, Any]]]


def _find() -> Find:
    """The search in C, which takes a tenth of the time, or the one in Python where torchada was installed without a compiler."""
    try:
        from torchada.redirect.native import _search
    except ImportError:
        return find_in_python
    return _search.find


def find_in_python(dictionaries: list[dict[str, Any]], objects: list[object]) -> list[tuple[int, str, Any]]:
    """(number of the dictionary, key, value) of each entry that is one of `objects`."""
    wanted = frozenset(map(id, objects))
    # A process with torch has tens of thousands of globals, so the loop over them runs in C.
    some = [
        numbered for numbered in enumerate(dictionaries) if not wanted.isdisjoint(map(id, list(numbered[1].values())))
    ]
    return [
        (number, name, value)
        for number, entries in some
        for name, value in list(entries.items())
        if id(value) in wanted
    ]


def forget_functions() -> None:
    """Empty the caches in which torch keeps functions; torch fills them again from what is in place then."""
    device_contexts: Any = sys.modules.get("torch.utils._device")
    if device_contexts is not None:
        device_contexts._device_constructors.cache_clear()  # the functions that `with torch.device(...)` affects
    trace_rules: Any = sys.modules.get("torch._dynamo.trace_rules")
    if trace_rules is not None:
        trace_rules.clear_lru_cache()  # the functions that torch.compile puts into its graphs unchanged
