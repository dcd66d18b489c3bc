"""Calls kernels that Inductor has compiled as operators, so that the device checks, profiles and captures them.

An operator without its own kernel runs the CPU's kernel on the device's memory (csrc/ops/fallback.cpp). Here that kernel is
the compiled one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Kernel = Callable[..., None]

_library: Any = torch.library
_OPERATOR = _library.Library("musasim", "FRAGMENT")
_OPERATOR.define("inductor_kernel(int call, Tensor(a!)[] tensors) -> ()")
# A call without its tensors: the kernel, and its arguments with None for each tensor. A graph refers to its calls by number
# as long as it lives, so no call is ever removed; equal calls share a number.
_CALLS: list[tuple[Kernel, tuple[Any, ...]]] = []
_NUMBERS: dict[tuple[Any, ...], int] = {}


def launch(kernel: Kernel, *arguments: Any) -> None:
    """Run `kernel` on the current device."""
    tensors = _on_one_device([argument for argument in arguments if isinstance(argument, torch.Tensor)])
    rest = tuple(None if isinstance(argument, torch.Tensor) else argument for argument in arguments)
    with torch._C._AutoDispatchBelowAutograd():
        torch.ops.musasim.inductor_kernel.default(_number(kernel, rest), tensors)


def _on_one_device(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Move scalar tensors on the CPU to the device of the others. A GPU kernel would get them as plain numbers."""
    device = next((tensor.device for tensor in tensors if tensor.device.type != "cpu"), None)
    if device is None:
        return tensors
    return [tensor.to(device) if tensor.device.type == "cpu" and tensor.dim() == 0 else tensor for tensor in tensors]


def _number(kernel: Kernel, rest: tuple[Any, ...]) -> int:
    key = (kernel, rest)
    number = _NUMBERS.get(key)
    if number is None:
        number = _NUMBERS[key] = len(_CALLS)
        _CALLS.append(key)
    return number


def _run(call: int, tensors: list[torch.Tensor]) -> None:
    kernel, rest = _CALLS[call]
    remaining = iter(tensors)
    kernel(*(next(remaining) if argument is None else argument for argument in rest))


_OPERATOR.impl("inductor_kernel", _run, "CPU")
