"""Plain functions that translate one device argument and call a C function, where a call costs nanoseconds.

They are functions and not wrapt proxies because they are called often, because torch hands the function it finds there to
`__torch_function__`, and because dynamo, TorchScript's table of builtins and fx understand plain functions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

from torchada.redirect.device_names import DeviceNames
from torchada.redirect.signature import Signature

Function = Callable[..., Any]


class _Unset:
    """Marks an argument that was not given."""


def keyword(original: Function, names: DeviceNames) -> Function:
    """`original`, with the keyword `device` translated."""
    get = names.get

    # A parameter of its own, because an entry of **kwargs would have to be looked up and stored again.
    def call(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None:
            return original(*args, **kwargs)
        try:
            device = get(device, device)
        except TypeError:  # unhashable: torch's own error names it
            pass
        return original(*args, device=device, **kwargs)

    return disguise(call, original)


def positional(original: Function, names: DeviceNames, position: int, argument: str = "device") -> Function:
    """`original`, with the argument at `position`, or the keyword `argument`, translated."""
    get = names.get
    concerned = (str, names.torch_device)

    def call(*args: Any, **kwargs: Any) -> Any:
        # isinstance first, because the argument may be a tensor, and hashing one of a subclass calls its __torch_function__.
        if len(args) > position:
            value = args[position]
            if isinstance(value, concerned):
                value = get(value, value)
                args = (*args[:position], value, *args[position + 1 :])
        elif argument in kwargs:
            kwargs[argument] = names.translate(kwargs[argument])
        return original(*args, **kwargs)

    return disguise(call, original)


def method(original: Function, names: DeviceNames, argument: str = "device", *, path: str | None = None) -> Function:
    """`original`, a method, with its first argument after self, or the keyword `argument`, translated."""
    get = names.get
    concerned = (str, names.torch_device)

    def call(self: Any, value: Any = _Unset, /, *rest: Any, **kwargs: Any) -> Any:
        if isinstance(value, concerned):
            value = get(value, value)
        elif argument in kwargs:
            kwargs[argument] = names.translate(kwargs[argument])
        if value is _Unset:
            return original(self, **kwargs)
        if rest or kwargs:
            return original(self, value, *rest, **kwargs)
        return original(self, value)

    return disguise(call, original, path)


def plain(method: Function) -> Function:
    """`method` as a plain function, which can have names and attributes of its own."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    return call


def unwrappable(call: Function, function: Function) -> Function:
    """`call`, which does what `function` does, with `function`'s `__wrapped__`: torch 2.15 reads torch.cuda.use_mem_pool's."""
    if hasattr(function, "__wrapped__"):
        call.__wrapped__ = function.__wrapped__  # type: ignore[attr-defined]
    return call


def disguise(function: Function, original: Any, path: str | None = None) -> Function:
    """Give `function` the names of `original`, or `path` within torch, so that pickle and repr find it where the original was.

    Not functools.wraps: `__wrapped__` would let inspect, and code that unwraps, bypass the translation.
    """
    name = path or _name(original)
    function.__qualname__ = name
    function.__name__ = name.rpartition(".")[2]
    function.__doc__ = original.__doc__
    if isinstance(original, FunctionType):  # dynamo binds arguments by the signature of torch.autocast
        function.__signature__ = Signature.of(original)  # type: ignore[attr-defined]
    function.__annotations__ = {}  # ours name types that are there for type checkers alone, and could not be evaluated
    function.__module__ = "torch" if path else getattr(original, "__module__", None) or "torch"
    function.__torchada_original__ = original  # type: ignore[attr-defined]
    return function


def _name(original: Any) -> str:
    """By which pickle finds it in its module. Functions of pybind11 and some of torch's are methods of what no module has."""
    if isinstance(original, BuiltinFunctionType) and not isinstance(original.__self__, type):
        return original.__name__
    name: str = getattr(original, "__qualname__", original.__name__)
    return name.replace("_VariableFunctionsClass.", "")


def original_of(function: Any) -> Any:
    """The function that one of ours replaces; any other is returned unchanged."""
    return getattr(function, "__torchada_original__", function)
