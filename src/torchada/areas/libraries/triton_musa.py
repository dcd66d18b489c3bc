"""What torchada 0.1, after 0.1.103, mends or chooses in Moore Threads' Triton, by the variables that it has for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from torchada.base.settings import of_others
from torchada.base.warnings import warn_once
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import Variables

AliasPairs = Callable[[Sequence[Any], Sequence[Any]], str]

_VARIABLE = "TRITON_F32_DEFAULT"
_HELPER = "_make_pointer_alias_spec"


def f32_default(context: Context) -> Iterator[Patch]:
    """TORCHADA_TRITON_F32_DEFAULT: how tl.dot multiplies float32 where the kernel does not say. Triton's own variable wins."""
    from triton.backends import backends

    precision = context.settings.triton_f32_default
    if not precision:
        raise Skip("TORCHADA_TRITON_F32_DEFAULT is not set")
    if context.backend.device_type not in backends:
        raise Skip(f"this Triton has no backend {context.backend.device_type}")
    if of_others(_VARIABLE):
        raise Skip(f"{_VARIABLE} is set")
    allowed = _allowed(backends[context.backend.device_type])
    if precision not in allowed:
        warn_once(f"TORCHADA_TRITON_F32_DEFAULT={precision} is ignored: Triton's backend takes {', '.join(allowed)}")
        raise Skip(f"{precision} is none of {', '.join(allowed)}")
    yield Patch(Variables(), _VARIABLE, precision, None, note="tl.dot")


def _allowed(backend: Any) -> tuple[str, ...]:
    """What the options of the backend's compiler accept."""
    module = import_module(backend.compiler.__module__)
    for value in vars(module).values():
        allowed = getattr(value, "allowed_dot_input_precisions", None)
        if isinstance(allowed, (tuple, list)):
            return tuple(allowed)
    return ("ieee", "tf32", "tf32x3")


def inplace_alias(context: Context) -> Iterator[Patch]:
    """Which arguments of a kernel are one pointer: MUSA Triton 3.6 counts parameters that are compiled in as arguments, too."""
    try:
        jit = import_module("triton.runtime.jit")
    except ModuleNotFoundError as error:
        raise Skip(f"this Triton has another layout: {error}") from None
    vendors: AliasPairs | None = getattr(jit, _HELPER, None)
    if vendors is None:
        raise Skip("this Triton tells its compiler nothing of equal pointers")
    wanted = context.settings.triton_inplace_alias
    if wanted == "vendor":
        raise Skip("TORCHADA_TRITON_INPLACE_ALIAS=vendor")
    chosen = _none if wanted == "off" else _counting_arguments(vendors)
    if wanted == "fix" and (_tried(jit, vendors), _tried(jit, chosen)) != ("1:2", "0:1"):
        raise Skip("it does not count as MUSA Triton 3.6 does")
    yield Patch(jit, _HELPER, chosen, None, since="triton 3.6", until="triton 3.6", note="kernels that work in place")


def _none(params: Sequence[Any], bound_vals: Sequence[Any]) -> str:
    return ""


def _counting_arguments(vendors: AliasPairs) -> AliasPairs:
    """The vendor's function, given those parameters alone that become arguments."""

    def _make_pointer_alias_spec(params: Sequence[Any], bound_vals: Sequence[Any]) -> str:
        pairs = [(param, value) for param, value in zip(params, bound_vals) if _is_argument(param, value)]
        if any(isinstance(value, (tuple, list)) for _, value in pairs):  # one parameter, several arguments
            return ""
        return vendors([param for param, _ in pairs], [value for _, value in pairs])

    return _make_pointer_alias_spec


def _is_argument(param: Any, value: Any) -> bool:
    """Whether the compiled kernel takes it: constants, None, an int that is 1, and functions are compiled in."""
    if param.is_constexpr:
        return False
    if param.annotation_type:
        return True
    is_one = type(value) is int and value == 1 and not param.do_not_specialize
    return not (value is None or is_one or hasattr(value, "cache_key"))


class _Pointer:
    """An argument for a trial."""

    dtype = "float32"

    def data_ptr(self) -> int:
        return 4096


def _tried(jit: ModuleType, pairs: AliasPairs) -> str:
    """What is answered for (None, p, p): "0:1" where arguments are counted, "1:2" where parameters are."""

    def kernel(absent, source, target):  # type: ignore[no-untyped-def]
        """Three parameters."""

    names = inspect.signature(kernel).parameters.values()
    try:
        return pairs(
            [jit.KernelParam(number, name, False, False) for number, name in enumerate(names)],
            [None, *[_Pointer()] * 2],
        )
    except Exception:
        return ""
