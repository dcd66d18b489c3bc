"""Operators on elements that torch_musa 2.7.1 computes otherwise than CUDA.

selu and celu: their scales reach negative values alone, or nothing (Activation.cpp, Elu). Powers of integers: in single precision,
and not into the given tensor (Binary.cpp). Floor and truncating division in double precision: the quotient is not rounded
(BinaryNew.cpp). Functions of real numbers keep the type of integers, or fail (Activation.cpp, Unary).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Kernel, Selection, need_own_kernels
from torchada.areas.kernels._substitutes import elsewhere
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet

_POWERS = ("pow.Tensor_Tensor", "pow_.Tensor", "pow.Tensor_Tensor_out")
_DIVISIONS = (
    *("floor_divide", "floor_divide_.Tensor", "floor_divide.out"),
    *("div.Tensor_mode", "div_.Tensor_mode", "div.out_mode"),
)
_OF_REALS = (
    *("exp", "sqrt", "rsqrt", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "sigmoid", "acos", "atan"),
    "pow.Tensor_Scalar",
)


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    kernels, verdicts, torch = Selection(context), Verdicts(context), context.torch
    elu = _Elu(torch)
    of_elu: dict[str, Function] = {"elu": elu, "elu_": elu.in_place, "elu.out": elu.out}
    made: list[tuple[Kernel, str]] = []
    for name, replacement in of_elu.items():
        probe = partial(elu.is_right, has_out=name == "elu.out")
        made.append((_Scaled(context, name, replacement, probe, verdicts), "exponentials"))
    for name in _POWERS:
        power = _Power(context, name, elsewhere(context, name), _Probe(torch, name).power, verdicts)
        made.append((power, "integers on the CPU"))
    for name in _DIVISIONS if context.settings.all_dtypes else ():
        division = _Division(context, name, elsewhere(context, name), _Probe(torch, name).division, verdicts)
        made.append((division, "division on the CPU"))
    for name in _OF_REALS if context.settings.all_dtypes else ():
        function = _Function(torch, name)
        made.append((_Promoted(context, name, function, function.is_right, verdicts), "single precision"))
    for kernel, how in made:
        to = f"{how}, where {context.backend.adapter}'s kernel is not right"
        yield Patch(kernels, kernel.name, kernel, None, "emulated", to, note=f"aten::{kernel.name}")


def _device_of_pair(a: Tensor, b: Tensor) -> Any:
    """One of them may be a number on the host."""
    return b.device if a.device.type == "cpu" else a.device


def _check_together(*operands: Tensor, out: Tensor | None = None) -> None:
    """All have to be on one device, but for numbers on the host. Not every kernel of the backend looks at that of `out`."""
    from torchada.areas.kernels._flash_checks import check_devices  # no kernel is called at the start

    check_devices(*(operand for operand in operands if operand.dim() or operand.device.type != "cpu"), out)


class _Scaled(Kernel):
    """A kernel for the calls of elu that have scales, as selu and celu make them. Of integers there is none, on CUDA neither."""

    rule = gates.SCALED

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        return args[0].is_floating_point() and any(scale != 1 for scale in args[2:4])


class _Power(Kernel):
    rule = gates.INTEGERS

    def __init__(self, context: Context, name: str, *rest: Any) -> None:
        super().__init__(context, name, *rest)
        if name.endswith("_out"):
            self.rule = gates.ALWAYS  # the gate would count the type of `out` among those of the operands

    def __call__(self, keys: DispatchKeySet, base: Any, exponent: Any, **out: Any) -> Any:
        torch = self._context.torch
        # PyTorch has made a number of the base of `10 ** x` for the call of a Python function.
        if not isinstance(base, torch.Tensor):
            base = torch.scalar_tensor(base, dtype=out["out"].dtype)
        return super().__call__(keys, base, exponent, **out)

    def device(self, *args: Any) -> Any:
        return _device_of_pair(*args)

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        if any(operand.is_floating_point() or operand.is_complex() for operand in args[:2]):
            return False
        _check_together(*args, **kwargs)
        return True


class _Division(Kernel):
    rule = gates.DOUBLES

    def __call__(self, keys: DispatchKeySet, a: Any, b: Any, **options: Any) -> Any:
        torch = self._context.torch
        # As above, of the divisor of `x // 2`.
        if not isinstance(b, torch.Tensor):
            b = torch.scalar_tensor(b, dtype=torch.result_type(a, b))
        elif not isinstance(a, torch.Tensor):
            a = torch.scalar_tensor(a, dtype=torch.result_type(a, b))
        return super().__call__(keys, a, b, **options)

    def device(self, *args: Any) -> Any:
        return _device_of_pair(*args)

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        torch = self._context.torch
        rounds = kwargs.get("rounding_mode", "floor") is not None
        is_dense = all(operand.layout == torch.strided for operand in args[:2])
        if not rounds or not is_dense or torch.result_type(*args[:2]) != torch.float64:
            return False
        _check_together(*args[:2], out=kwargs.get("out"))
        return True


class _Promoted(Kernel):
    rule = gates.INTEGERS

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        if args[0].is_floating_point() or args[0].is_complex() or args[0].layout != self._context.torch.strided:
            return False
        return len(args) == 1 or isinstance(args[1], float)


class _Function:
    """A function of integers, computed in the default type of floating point, as PyTorch does."""

    def __init__(self, torch: Any, name: str) -> None:
        self._torch = torch
        self._operator = overload(torch, name)

    def __call__(self, self_: Tensor, *exponent: float) -> Any:
        return self._operator(self_.to(self._torch.get_default_dtype()), *exponent)

    def is_right(self, kernel: Function, device: Any) -> bool:
        torch = self._torch
        x, exponent = torch.tensor([1, 2, 3]), [0.5] if len(self._operator._schema.arguments) > 1 else []
        computed, wanted = kernel(x.to(device), *exponent), self._operator(x, *exponent)
        return computed.dtype == wanted.dtype and bool(torch.allclose(computed.cpu(), wanted, equal_nan=True))


class _Elu:
    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __call__(self, self_: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
        torch = self._torch
        x = self_.float() if self_.dtype in (torch.float16, torch.bfloat16) else self_
        result: Tensor = torch.where(x > 0, x, torch.expm1(x * input_scale) * alpha) * scale
        return result.to(self_.dtype)

    def in_place(self, self_: Tensor, *scales: float) -> Tensor:
        return self_.copy_(self(self_, *scales))

    def out(self, self_: Tensor, *scales: float, out: Tensor) -> Tensor:
        result = self(self_, *scales)
        return out.resize_(result.shape).copy_(result)

    def is_right(self, kernel: Function, device: Any, has_out: bool = False) -> bool:
        torch = self._torch
        x = torch.tensor([-2.0, -0.5, 0.0, 3.0])
        given = x.to(device)
        out = {"out": torch.empty_like(given)} if has_out else {}
        return bool(torch.allclose(kernel(given, 2.0, 3.0, 0.5, **out).cpu(), self(x, 2.0, 3.0, 0.5)))


class _Probe:
    """Of powers and divisions, by the operator's name: whether it writes to its first argument, or to `out`."""

    def __init__(self, torch: Any, name: str) -> None:
        self._torch, self._has_mode = torch, "_mode" in name
        self._in_place, self._has_out = "_." in name, "out" in name

    def power(self, kernel: Function, device: Any) -> bool:
        base, exponent = (self._torch.tensor([value], device=device) for value in (3, 20))
        return self._found(kernel, base, exponent) == [3486784401]

    def division(self, kernel: Function, device: Any) -> bool:
        a, b = (self._torch.tensor([value], dtype=self._torch.float64, device=device) for value in (-7, 2))
        mode = {"rounding_mode": "floor"} if self._has_mode else {}
        return self._found(kernel, a, b, **mode) == [-4.0]

    def _found(self, kernel: Function, a: Any, b: Tensor, **options: Any) -> list[float]:
        if self._in_place:
            place = a.view(1)
            kernel(a, b, **options)
            written: list[float] = place.tolist()
            return written
        if self._has_out:
            options["out"] = self._torch.empty_like(a)
            kernel(a, b, **options)
            given: list[float] = options["out"].tolist()
            return given
        made: list[float] = kernel(a, b, **options).tolist()
        return made
