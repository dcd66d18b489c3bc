"""The gradients of torch.nn.functional.interpolate.

torch_musa 2.7.1 gives those of "nearest" in every mode (UpSample.cpp, UpSampleNdBwdOut). Every mode treats one dimension after
another, so its gradient is a product with a matrix for each: what the mode makes of the columns of the identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Kernel, Selection, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor

# The operators, and whether they take `align_corners`.
_MODES = {
    "upsample_linear1d": True,
    "upsample_bilinear2d": True,
    "upsample_bicubic2d": True,
    "upsample_trilinear3d": True,
    "_upsample_bilinear2d_aa": True,
    "_upsample_bicubic2d_aa": True,
    "_upsample_nearest_exact1d": False,
    "_upsample_nearest_exact2d": False,
    "_upsample_nearest_exact3d": False,
}

# Their gradients lie in memory as those that they are given, channels last; the others' are contiguous, on CUDA too.
_KEEP_LAYOUT = {
    "upsample_bilinear2d": "channels_last",
    "_upsample_bilinear2d_aa": "channels_last",
    "_upsample_nearest_exact2d": "channels_last",
    "upsample_trilinear3d": "channels_last_3d",
}


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    kernels, verdicts = Selection(context), Verdicts(context)
    to = f"matrix products, where {context.backend.adapter}'s kernel is not right"
    for mode, aligns in _MODES.items():
        gradient = _Gradient(context.torch, mode, aligns)
        overloads: dict[str, Function] = {"": gradient, ".grad_input": gradient.out}
        for name, replacement in overloads.items():
            probe = partial(gradient.is_right, is_out=bool(name))
            kernel = Kernel(context, f"{mode}_backward{name}", replacement, probe, verdicts)
            note = "the gradient of torch.nn.functional.interpolate"
            yield Patch(kernels, kernel.name, kernel, None, "emulated", to, note=note)


class _Gradient:
    def __init__(self, torch: Any, mode: str, aligns: bool) -> None:
        self._torch, self._mode, self._aligns = torch, mode, aligns

    @cached_property
    def _forward(self) -> Any:
        return overload(self._torch, self._mode)

    def __call__(
        self, grad_output: Tensor, output_size: Sequence[int], input_size: Sequence[int], *rest: Any
    ) -> Tensor:
        torch = self._torch
        corners, scales = (rest[:1], rest[1:]) if self._aligns else ((), rest)
        scales = (*scales, *[None] * len(output_size))[: len(output_size)]  # the last ones may be left out
        is_half = grad_output.dtype in (torch.float16, torch.bfloat16)
        grad = grad_output.float() if is_half else grad_output
        for i, (wanted, given, scale) in enumerate(zip(input_size[2:], output_size, scales)):
            matrix = self._matrix(grad, wanted, given, corners, [*[None] * (len(scales) - 1), scale])
            # Contiguous, because torch_musa's products in double precision misread strides (Matmul.cpp, BlasGEMM).
            grad = (grad.movedim(2 + i, -1).contiguous() @ matrix).movedim(-1, 2 + i)
        result: Tensor = grad.to(grad_output.dtype).contiguous(memory_format=self._layout(grad_output))
        return result

    def _layout(self, grad_output: Tensor) -> Any:
        last = getattr(self._torch, _KEEP_LAYOUT.get(self._mode, "contiguous_format"))
        is_last = grad_output.is_contiguous(memory_format=last) and not grad_output.is_contiguous()
        return last if is_last else self._torch.contiguous_format

    def out(self, *args: Any, grad_input: Tensor) -> Tensor:
        result = self(*args)
        return grad_input.resize_(result.shape).copy_(result)

    def _matrix(self, like: Tensor, wanted: int, given: int, corners: Sequence[bool], scales: Sequence[Any]) -> Tensor:
        """(given, wanted), from the size of the result to that of the image, in one dimension."""
        ones = [1] * (len(scales) - 1)
        columns = self._torch.eye(wanted, dtype=like.dtype, device=like.device).reshape(1, wanted, *ones, wanted)
        resized = self._forward(columns, [*ones, given], *corners, *scales)
        matrix: Tensor = resized.reshape(wanted, given).t().contiguous()
        return matrix

    def is_right(self, kernel: Function, device: Any, is_out: bool = False) -> bool:
        """Whether the CPU has the same, for an image of three elements in each direction that becomes one of five."""
        torch = self._torch
        dimensions = len(self._forward._schema.arguments) - (3 if self._aligns else 2)
        grad = torch.arange(5.0**dimensions).reshape(1, 1, *[5] * dimensions)
        sizes = [5] * dimensions, [1, 1, *[3] * dimensions]
        rest = [*([False] if self._aligns else []), *[None] * dimensions]
        wanted = overload(torch, f"{self._mode}_backward")(grad, *sizes, *rest)
        given = {"grad_input": torch.empty(wanted.shape, device=device)} if is_out else {}
        return bool(torch.allclose(kernel(grad.to(device), *sizes, *rest, **given).cpu(), wanted))
