"""Operators computed in another way than by the backend's kernel: in single precision, on the CPU, or of other operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._overloads import overload
from torchada.redirect.context import Context

if TYPE_CHECKING:
    from torch import Tensor

    Function = Callable[..., Any]

# What operators write to although their schemas do not say so.
_STATISTICS = ("running_mean", "running_var")
_WRITTEN = {"native_batch_norm": _STATISTICS}
# CUDA takes booleans here, and the CPU does not.
_OF_BOOLEANS = ("abs", "abs_", "abs.out")


def elsewhere(context: Context, name: str) -> Function:
    """What computes the operator `name` of aten for any data type that it has on the CPU."""
    if "batch_norm" in name and "backward" not in name:
        return _BatchNorm(context, name)
    if not name.startswith("native_dropout"):
        return _Elsewhere(context, name)
    dropout = _Dropout(context.torch)
    return dropout.backward if name.endswith("_backward") else dropout


class _Elsewhere:
    """Halves are computed in single precision on the device, everything else on the CPU."""

    def __init__(self, context: Context, name: str) -> None:
        self._context, self._torch, self._name = context, context.torch, name
        self._is_on_the_cpu = name == "bincount"  # whose weights are added up in double precision, on CUDA too

    @cached_property
    def _written(self) -> list[tuple[int, str]]:
        """The arguments that are written to: their places and names."""
        arguments = overload(self._torch, self._name)._schema.arguments
        undeclared = _WRITTEN.get(self._name, ())
        names = [(place, argument.name, argument.is_write) for place, argument in enumerate(arguments)]
        return [(place, name) for place, name, is_write in names if is_write or name in undeclared]

    @cached_property
    def _composed(self) -> Function | None:
        """What computes it for complex tensors, on the device."""
        from torchada.areas.kernels import _complex_parts

        function: Function | None = _complex_parts.composed(self._torch, self._name)
        return function

    @cached_property
    def _returns_written(self) -> bool:
        (*_, last) = overload(self._torch, self._name)._schema.returns
        return last.alias_info is not None

    @cached_property
    def _compute(self) -> Function:
        convolution = _Convolution(self._torch)
        of_devices: dict[str, Function] = {
            "convolution_overrideable": convolution,
            "convolution_backward_overrideable": convolution.backward,
        }
        return of_devices.get(self._name) or overload(self._torch, self._name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [argument for argument in (*args, *kwargs.values()) if isinstance(argument, self._torch.Tensor)]
        if self._composed is not None and any(tensor.is_complex() for tensor in tensors):
            return self._composed(*args, **kwargs)
        to, back = self._ways(tensors)
        moved = [self._each(argument, to) for argument in args]
        named = {name: self._each(argument, to) for name, argument in kwargs.items()}
        result = self._compute(*moved, **named)
        written: Any = None
        for place, name in self._written:
            written, computed = _argument(place, name, args, kwargs), _argument(place, name, moved, named)
            if written is not None and written is not computed:
                written.resize_(computed.shape).copy_(computed)
        return written if self._returns_written else self._each(result, back)

    def _ways(self, tensors: Sequence[Tensor]) -> tuple[Function, Function]:
        """How to convert a tensor for the computation, and how to convert a result back."""
        torch = self._torch
        # A number on the CPU may stand in front: `torch.pow(torch.tensor(2), x)`.
        device = next((tensor.device for tensor in tensors if tensor.device.type != "cpu"), tensors[0].device)
        floating = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
        if self._is_on_the_cpu or len(floating) != 1 or not floating <= {torch.float16, torch.bfloat16}:
            self._note(tensors)
            if self._name in _OF_BOOLEANS and tensors[0].dtype == torch.bool:
                return lambda tensor: tensor.cpu().byte(), lambda tensor: tensor.to(device, torch.bool)
            if any(tensor.dtype == torch.complex32 for tensor in tensors):  # which the CPU has few functions of
                return lambda tensor: _widened(torch, tensor.cpu()), lambda tensor: _narrowed(torch, tensor).to(device)
            return lambda tensor: tensor.cpu(), lambda tensor: tensor.to(device)
        (half,) = floating
        return (
            lambda tensor: tensor.float() if tensor.is_floating_point() else tensor,
            lambda tensor: tensor.to(half) if tensor.is_floating_point() else tensor,
        )

    def _note(self, tensors: Sequence[Tensor]) -> None:
        from torchada.redirect import cpu_fallbacks

        types = ", ".join(sorted({str(tensor.dtype).removeprefix("torch.") for tensor in tensors}))
        adapter = self._context.backend.adapter
        cpu_fallbacks.note(self._context, f"aten::{self._name}", f"{adapter}'s kernel refuses {types}, or is wrong")

    def _each(self, value: Any, way: Function) -> Any:
        if isinstance(value, tuple):
            return tuple(self._each(part, way) for part in value)
        return way(value) if isinstance(value, self._torch.Tensor) else value


class _BatchNorm(_Elsewhere):
    """Parameters in halves beside statistics in single precision: the backend's kernel gets all of them in single precision.

    CUDA takes these, and refuses other mixtures (read off an H100, torch 2.11.0).
    """

    @cached_property
    def _parameters(self) -> dict[int, str]:
        names = ("weight", "bias", *_STATISTICS)
        arguments = overload(self._torch, self._name)._schema.arguments
        return {place: argument.name for place, argument in enumerate(arguments) if argument.name in names}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = {place: args[place] for place in self._parameters if place < len(args) and args[place] is not None}
        if not self._is_of_halves(args[0].dtype, given):
            return super().__call__(*args, **kwargs)
        wide = {place: tensor.float() for place, tensor in given.items()}
        return self._compute(*(wide.get(place, argument) for place, argument in enumerate(args)), **kwargs)

    def _is_of_halves(self, dtype: Any, given: dict[int, Tensor]) -> bool:
        single = self._torch.float32
        wanted = {place: single if self._parameters[place] in _STATISTICS else dtype for place in given}
        is_half = dtype in (self._torch.float16, self._torch.bfloat16)
        return is_half and all(tensor.dtype is wanted[place] for place, tensor in given.items())


def _argument(place: int, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return args[place] if place < len(args) else kwargs.get(name)


def _widened(torch: Any, tensor: Tensor) -> Tensor:
    return tensor.to(torch.complex64) if tensor.dtype == torch.complex32 else tensor


def _narrowed(torch: Any, tensor: Tensor) -> Tensor:
    return tensor.to(torch.complex32) if tensor.dtype == torch.complex64 else tensor


class _Convolution:
    """A device's convolution, as other devices have it. CUDA has none of whole numbers."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __call__(self, image: Tensor, weight: Tensor, *rest: Any) -> Any:
        self._check(weight)
        return self._torch.ops.aten.convolution(image, weight, *rest)

    def backward(self, grad: Tensor, image: Tensor, weight: Tensor, *rest: Any) -> Any:
        self._check(weight)
        *geometry, transposed, output_padding, groups, mask = rest
        bias = [weight.size(1) * groups if transposed else weight.size(0)]
        return self._torch.ops.aten.convolution_backward(
            grad, image, weight, bias, *geometry, transposed, output_padding, groups, mask
        )

    def _check(self, weight: Tensor) -> None:
        if not (weight.is_floating_point() or weight.is_complex()):
            raise NotImplementedError(f"no convolution of {weight.dtype}")


class _Dropout:
    """With random numbers of the device."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __call__(self, input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
        torch = self._torch
        kept = 1.0 - p if train or train is None else 1.0
        mask = torch.empty_like(input, dtype=torch.float32).bernoulli_(kept).bool()
        return self.backward(input, mask, 1.0 / kept if kept else 0.0), mask

    def backward(self, grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
        return grad_output * mask * scale


class Range:
    """aten::arange.start_out, of a range of whole numbers."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __call__(self, start: Any, end: Any, step: Any = 1, *, out: Tensor) -> Tensor:
        torch = self._torch
        if out.dtype not in (torch.float64, torch.uint8, torch.int8, torch.int16):
            raise NotImplementedError(f"no range of {out.dtype}, on CUDA neither")
        length = torch.arange(start, end, step, dtype=out.dtype, device="meta").numel()
        steps = torch.arange(length, dtype=torch.int64, device=out.device)
        if out.is_floating_point():
            return out.resize_(length).copy_(steps.double() * step + start)
        return out.resize_(length).copy_(steps * int(step) + int(start))
