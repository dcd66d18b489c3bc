"""Numbers in tensors of the device, where torch_musa 2.7.1 reads them on the host: fill_, masked_fill_, clamp, comparisons.

Its products of booleans, and of numbers in double precision, go through the CPU (Fill.cpp, Clamp.cpp, Binary.cpp, BinaryNew.cpp).
CUDA makes the host wait for none of these, so that a graph captures them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._gates.operators import NUMBER_FIRST
from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Gated, Kernel, Late, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.areas.kernels._waiting import Waiting, need_streams
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    need_streams(context)
    to = f"operators on the device, where {context.backend.adapter}'s kernel makes the host wait"
    note = "aten::* of scalars of the device"
    yield Patch(Late(context), "scalars of the device", _Kernels(context), None, "emulated", to, note=note)


class _Kernels:
    """What may make the host wait."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __call__(self) -> Iterator[Gated]:
        context, verdicts = self._context, Verdicts(self._context)
        for name, composed in _SCALARS.items():
            yield _Scalar(context, name, composed(context, name), verdicts)
        for name in ("mul.Tensor", "mul_.Tensor", "mul.out"):
            yield _Multiplied(context, name, _Product(context, name), verdicts)
        yield from (_NumberFirst(context, name) for name in NUMBER_FIRST)


class _OnTheDevice(Waiting):
    """The composition of one operator, and the arguments of a probe."""

    def __init__(self, context: Context, name: str) -> None:
        super().__init__(context)
        self._context, self._name = context, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        raise NotImplementedError

    def examples(self, device: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def is_on_device(self, value: Any) -> bool:
        return isinstance(value, self._torch.Tensor) and value.device.type == self._context.backend.device_type

    def is_right(self, kernel: Function, device: Any) -> bool:
        return all(self._agrees(kernel, example) for example in self.examples(device))

    def _agrees(self, kernel: Function, example: tuple[Any, ...]) -> bool:
        torch = self._torch
        cpu = [value.cpu() if isinstance(value, torch.Tensor) else value for value in example]
        out = {"out": torch.empty_like(example[0])} if "out" in self._name else {}
        wanted = overload(torch, self._name)(*cpu, **({"out": torch.empty_like(cpu[0])} if out else {}))
        return torch.equal(kernel(*example, **out).cpu(), wanted) and self.goes_on(
            lambda: kernel(*example, **out), example[0].device
        )


class _Scalar(Kernel):
    def __init__(self, context: Context, name: str, composed: _OnTheDevice, verdicts: Verdicts) -> None:
        super().__init__(context, name, composed, composed.is_right, verdicts)
        self.concerns = composed.concerns  # type: ignore[method-assign]


class _Multiplied(_Scalar):
    """A gate in Python would cost each product in the world; graphs that need this are captured once the gates are compiled."""

    rule, only_in_cpp = gates.WAITING, True

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        # PyTorch has made a number of the factor of `x * 2.0` for the call of a Python function.
        return super().__call__(keys, *self._with_tensors(args), **kwargs)

    def device(self, *args: Any) -> Any:
        a, b = args
        return b.device if a.device.type == "cpu" else a.device


class _NumberFirst(Gated):
    """`x.max() > x`: the number becomes a row of one element. No probe: that costs less than to find out whether it is needed."""

    rule, only_in_cpp = gates.NUMBER_FIRST, True

    def __call__(self, keys: DispatchKeySet, first: Any, second: Any, **out: Any) -> Any:
        torch = self._context.torch
        are_tensors = isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)
        if are_tensors and first.dim() == 0 < second.dim() and first.device == second.device:
            first = first.to(torch.result_type(first, second)).unsqueeze(0)
        return self._own(keys)(first, second, **out)


class _Fill(_OnTheDevice):
    def __call__(self, self_: Tensor, value: Tensor) -> Tensor:
        return self_.copy_(value)

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        return self.is_on_device(args[1]) and args[1].dim() == 0 and not args[1].is_complex()

    def examples(self, device: Any) -> list[tuple[Any, ...]]:
        torch = self._torch
        return [(torch.zeros(3, device=device), torch.tensor(2.5, device=device))]


class _MaskedFill(_OnTheDevice):
    def __call__(self, self_: Tensor, mask: Tensor, value: Tensor) -> Tensor:
        return self_.copy_(self._torch.where(mask, value.to(self_.dtype), self_))

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        self_, _, value = args
        return self.is_on_device(value) and value.dim() == 0 and not value.is_complex() and not self_.is_complex()

    def examples(self, device: Any) -> list[tuple[Any, ...]]:
        torch = self._torch
        return [(torch.zeros(3, device=device), torch.arange(3, device=device) > 0, torch.tensor(2.5, device=device))]


class _Clamp(_OnTheDevice):
    """With tensors of one element for both bounds; others are compared on the device."""

    def __call__(self, self_: Tensor, min: Tensor, max: Tensor, *, out: Tensor | None = None) -> Tensor:
        torch = self._torch
        clamped: Tensor = torch.minimum(torch.maximum(self_, min), max)
        if out is not None:
            return (out if out.shape == clamped.shape else out.resize_(clamped.shape)).copy_(clamped)
        return self_.copy_(clamped) if self._name.startswith("clamp_") else clamped

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        return len(args) == 3 and all(self.is_on_device(bound) and bound.numel() == 1 for bound in args[1:])

    def examples(self, device: Any) -> list[tuple[Any, ...]]:
        torch = self._torch
        return [(torch.tensor([-2.0, 0.5, 3.0], device=device), *torch.tensor([-1.0, 1.0], device=device).unbind())]


class _Product(_OnTheDevice):
    """Of booleans, in the other's type; in double precision, by the backend's product of complex numbers, whose parts are exact."""

    def __call__(self, a: Tensor, b: Tensor, *, out: Tensor | None = None) -> Tensor:
        product = self._product(a, b)
        if out is not None:
            return (out if out.shape == product.shape else out.resize_(product.shape)).copy_(product)
        return a.copy_(product) if self._name.startswith("mul_") else product

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        torch = self._torch
        kind = torch.result_type(a, b)
        product: Tensor
        if kind == torch.bool:
            product = torch.logical_and(a, b)
        elif kind == torch.float64:
            # A copy that keeps the order of the strides, such as that of channels_last.
            product = torch.mul(*(self._complex(operand) for operand in (a, b))).real.clone()
        else:
            product = torch.mul(a.to(kind), b.to(kind))
        return product

    def _complex(self, operand: Tensor) -> Any:
        if not self.is_on_device(operand):
            return operand.item()
        wide = operand.double()
        return self._torch.complex(wide, self._torch.zeros_like(wide))

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        torch = self._torch
        of_device = [operand for operand in args if self.is_on_device(operand)]
        kind, types = torch.result_type(*args), {operand.dtype for operand in of_device}
        written = args[0] if self._name.startswith("mul_") else kwargs.get("out")
        if kind.is_complex or (written is not None and written.dtype != kind):
            return False
        return types == {torch.float64} or (torch.bool in types and len(of_device) == 2)

    def examples(self, device: Any) -> list[tuple[Any, ...]]:
        torch = self._torch
        x, flags = torch.tensor([1.5, -2.0], device=device), torch.tensor([True, False], device=device)
        return [(x, flags), (x.double(), x.double() / 3)]


_SCALARS = {
    "fill_.Tensor": _Fill,
    "masked_fill_.Tensor": _MaskedFill,
    **dict.fromkeys(("clamp.Tensor", "clamp_.Tensor", "clamp.Tensor_out"), _Clamp),
}
