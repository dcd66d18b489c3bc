"""Modules in floating point, from which the quantized ones are converted."""

from collections.abc import Callable

from torch import Tensor
from torch.ao.nn.intrinsic.modules.fused import _FusedModule
from torch.nn import BatchNorm2d, Conv2d, Module, SiLU
from torch.nn.utils.parametrize import type_before_parametrizations


def _check(modules: list[Module], types: list[type[Module]]) -> None:
    given = [type_before_parametrizations(module) for module in modules]
    names = ", ".join(module_type.__name__ for module_type in given)
    assert given == types, f"Incorrect types for input modules: {names}"


class ConvSiLU2d(_FusedModule):
    """A convolution and SiLU, one after the other."""

    def __init__(self, conv: Conv2d, silu: SiLU) -> None:
        _check([conv, silu], [Conv2d, SiLU])
        super().__init__(conv, silu)


class ConvBnSiLU2d(_FusedModule):
    """A convolution, batch normalisation and SiLU, one after the other."""

    def __init__(self, conv: Conv2d, bn: BatchNorm2d, silu: SiLU) -> None:
        _check([conv, bn, silu], [Conv2d, BatchNorm2d, SiLU])
        super().__init__(conv, bn, silu)


class ConvAddSiLU2d(_FusedModule):
    """A convolution, an addition of a second input, and SiLU."""

    def __init__(self, conv: Conv2d, add: Callable[[Tensor, Tensor], Tensor], silu: SiLU) -> None:
        super().__init__(conv)
        self.add = add
        self.silu = silu

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:  # type: ignore[override]
        made: Tensor = self.silu(self.add(self[0](x1), x2))
        return made
