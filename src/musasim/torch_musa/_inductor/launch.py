"""Calls kernels that Inductor has compiled as operators, so that the device checks, profiles and captures them.

An operator without its own kernel runs the CPU's kernel on the device's memory (native/ops/fallback.cpp). Here that kernel is
the compiled one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

Kernel = Callable[..., None]

_library: Any = torch.library
_OPERATOR = _library.Library("musasim", "FRAGMENT")
_OPERATOR.define("inductor_kernel(int call, Tensor(a!)[] tensors) -> ()")
# A call without its tensors: the kernel, and the form of its arguments. A graph refers to its calls by number as long as it lives,
# so no call is ever removed; equal calls share a number.
_CALLS: list[tuple[Kernel, tuple[Any, ...]]] = []
_TENSOR = object()
_NUMBERS: dict[tuple[Any, ...], int] = {}


def launch(kernel: Kernel, *arguments: Any) -> None:
    """Run `kernel` on the current device."""
    given: list[torch.Tensor] = []
    form = tuple(_form(argument, given) for argument in arguments)
    tensors = _on_one_device(given)
    with torch._C._AutoDispatchBelowAutograd():
        torch.ops.musasim.inductor_kernel.default(_number(kernel, form), tensors)


def _form(argument: Any, tensors: list[torch.Tensor]) -> Any:
    """`argument` as a key, with marks for its tensors, which are added to `tensors`. A list is (list, its members)."""
    if isinstance(argument, torch.Tensor):
        tensors.append(argument)
        return _TENSOR
    if isinstance(argument, (list, tuple)):
        return type(argument), tuple(_form(member, tensors) for member in argument)
    return argument


def _filled(form: Any, tensors: Iterator[torch.Tensor]) -> Any:
    if form is _TENSOR:
        return next(tensors)
    if isinstance(form, tuple):
        kind, members = form
        return kind([_filled(member, tensors) for member in members])
    return form


def _on_one_device(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Move scalar tensors on the CPU to the device of the others. A GPU kernel would get them as plain numbers."""
    device = next((tensor.device for tensor in tensors if tensor.device.type != "cpu"), None)
    if device is None:
        return tensors
    return [tensor.to(device) if tensor.device.type == "cpu" and tensor.dim() == 0 else tensor for tensor in tensors]


def _number(kernel: Kernel, form: tuple[Any, ...]) -> int:
    key = (kernel, form)
    number = _NUMBERS.get(key)
    if number is None:
        number = _NUMBERS[key] = len(_CALLS)
        _CALLS.append(key)
    return number


def _run(call: int, tensors: list[torch.Tensor]) -> None:
    kernel, form = _CALLS[call]
    remaining = iter(tensors)
    kernel(*[_filled(argument, remaining) for argument in form])


_OPERATOR.impl("inductor_kernel", _run, "CPU")
