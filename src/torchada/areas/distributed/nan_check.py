"""TORCH_NCCL_NAN_CHECK and ProcessGroupNCCL._set_enable_nan_check: no group sends what is not a number.

torch_musa reads the variable in every release, and checks from 2.9.1 on. CUDA's check fails by an assertion of the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.distributed._collectives import collectives, device_in
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.mirrors.collectives import is_on

if TYPE_CHECKING:
    from torch import Tensor

_STEP, _NAME, _VARIABLE = "nan_check", "_set_enable_nan_check", "TORCH_NCCL_NAN_CHECK"
_API, _TO = f"torch.distributed.ProcessGroupNCCL.{_NAME}", "torch.isnan of what is sent"


def patches(context: Context) -> Iterator[Patch]:
    group = context.backend.collectives.process_group(context.torch.distributed, "nccl")
    if group is None or hasattr(group, _NAME):
        raise Skip(f"{context.backend.adapter} checks by itself, or has no process group for NCCL")
    if not hasattr(group, "uid"):
        raise Skip("its process groups have no number by which the check would know them")
    steps = collectives(context.torch)
    check = _Check(context)

    def _set_enable_nan_check(self: Any, enable_nan_check: bool) -> None:
        if enable_nan_check:
            check.wanted.add(self.uid)
            steps.begin(_STEP)
        else:
            check.wanted.discard(self.uid)

    until = "torch_musa 2.7.1"
    yield Patch(steps, _STEP, check, None, "emulated", _TO, until=until, note=_VARIABLE)
    yield Patch(group, _NAME, _set_enable_nan_check, _API, "emulated", _TO, until=until)
    init = _init(group.__init__, _set_enable_nan_check)
    yield Patch(group, "__init__", init, None, "emulated", _TO, until=until, note=_VARIABLE)


def _init(original: Callable[..., None], enable: Callable[[object, bool], None]) -> Callable[..., None]:
    def __init__(self: object, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if is_on(_VARIABLE):
            enable(self, True)

    return disguise(__init__, original)


class _Check:
    """A step of the collectives."""

    def __init__(self, context: Context) -> None:
        self._context, self._torch = context, context.torch
        # By their numbers, because Python's object of a group is made anew when it is asked for.
        self.wanted: set[int] = set()

    def __call__(self, operator: Any, place: int, args: tuple[Any, ...]) -> None:
        device = device_in(self._torch, self._context.backend.device_type, args[:place])
        if device is None:
            return
        group = self._torch.distributed.ProcessGroup.unbox(args[place])
        if getattr(group._get_backend(device), "uid", None) in self.wanted:
            for tensor in _tensors(self._sent(operator, place, args, group.rank())):
                if tensor.is_floating_point() and bool(self._torch.isnan(tensor).any()):
                    name = operator.name().removeprefix("c10d::").strip("_")
                    raise RuntimeError(f"{_VARIABLE}: {name} would send a tensor that has a value that is not a number")

    def _sent(self, operator: Any, place: int, args: tuple[Any, ...], rank: int) -> Any:
        """What this rank sends."""
        operators = self._torch.ops.c10d
        receives = operator in (operators.recv_.default, operators.recv_any_source_.default)
        if receives or (operator is operators.broadcast_.default and args[2] != rank):
            return ()
        return args[place - 1]


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)
    else:
        yield values
