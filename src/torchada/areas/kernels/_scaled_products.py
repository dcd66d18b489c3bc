"""torch.nn.functional.scaled_mm: products of eight-bit floating-point matrices whose scales are described by recipes.

A scale for the whole matrix or for each row is what torch._scaled_mm takes, and for that the backend has a kernel. Scales of blocks
of 128 are applied before a product in single precision. The smaller blocks, which CUDA has on Blackwell alone, are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torchada.redirect import unsupported
from torchada.redirect.context import Context

if TYPE_CHECKING:
    from torch import Tensor, dtype


_API = "torch.nn.functional.scaled_mm"
_BLOCK = 128
_OUT_DTYPE = 9  # its place among the arguments
# Values of torch.nn.functional.ScalingType.
_TENSOR, _ROW, _SIXTEEN, _THIRTY_TWO, _LINE, _SQUARE = range(6)
_AS_BEFORE = {(_TENSOR, _TENSOR), (_ROW, _ROW)}
_OF_BLOCKS = {(_LINE, _LINE), (_SQUARE, _LINE), (_LINE, _SQUARE)}


class ScaledProduct:
    """The kernel of _scaled_mm_v2."""

    def __init__(self, context: Context) -> None:
        self._context, self._torch = context, context.torch

    def __call__(
        self,
        left: Tensor,
        right: Tensor,
        scale_left: Sequence[Tensor],
        recipe_left: Sequence[int],
        swizzle_left: Sequence[int],
        scale_right: Sequence[Tensor],
        recipe_right: Sequence[int],
        swizzle_right: Sequence[int],
        bias: Tensor | None = None,
        out_dtype: dtype | None = None,
        contraction_dim: Sequence[int] = (),
        use_fast_accum: bool = False,
    ) -> Tensor:
        _check_sizes(left, right, contraction_dim)
        self._check_types(left, right, bias)
        recipes = (*recipe_left, *recipe_right)
        self._refuse_small_blocks(recipes)
        scales = (*scale_left, *scale_right)
        if recipes not in _AS_BEFORE | _OF_BLOCKS or len(scales) != 2 or any((*swizzle_left, *swizzle_right)):
            raise _invalid(f"recipes {list(recipe_left)} and {list(recipe_right)} with {len(scales)} scales")
        factors = list(zip((left, right.t()), scales, recipes))
        for matrix, scale, recipe in factors:
            self._check(matrix, scale, recipe)
        dtype = out_dtype or left.dtype
        if recipes in _AS_BEFORE:
            product: Tensor = self._torch._scaled_mm(left, right, *scales, bias, None, dtype, use_fast_accum)
            return product
        wide, other = (matrix.float() * _spread(matrix, scale, recipe) for matrix, scale, recipe in factors)
        product = wide @ other.t()
        return (product if bias is None else product + bias).to(dtype)

    def out(self, *args: Any, out: Tensor) -> Tensor:
        """The kernel of the overload that writes into a given tensor, whose type the product gets."""
        # Arguments at the end are left out where they have their defaults.
        given = [*args, None, None][: max(len(args), _OUT_DTYPE + 1)]
        if given[_OUT_DTYPE] not in (None, out.dtype):
            wanted = f"it is {given[_OUT_DTYPE]}, and the matrix has {out.dtype}"
            raise ValueError(f"out_dtype must match output matrix type: {wanted}")
        given[_OUT_DTYPE] = out.dtype
        made = self(*given)
        return out.resize_(made.shape).copy_(made)

    def _check_types(self, left: Tensor, right: Tensor, bias: Tensor | None) -> None:
        eight = (self._torch.float8_e4m3fn, self._torch.float8_e5m2)
        for name, matrix in (("mat_a", left), ("mat_b", right)):
            if matrix.dtype not in eight:
                raise ValueError(f"Expected {name} to be Float8 matrix got {matrix.dtype}")
        if bias is not None and bias.numel() != right.size(1):
            raise ValueError(f"Bias must be size {right.size(1)} but got {bias.numel()}")

    def _refuse_small_blocks(self, recipes: Sequence[int]) -> None:
        small = [size for size, recipe in (("1x16", _SIXTEEN), ("1x32", _THIRTY_TWO)) if recipe in recipes]
        if small:
            why = f"blocks of {small[0]} are for NVIDIA's Blackwell; scale the matrices, and multiply them by torch.mm"
            raise unsupported.error(self._context, f"{_API} with scales of blocks of {small[0]}", why)

    def _check(self, matrix: Tensor, scale: Tensor, recipe: int) -> None:
        """`matrix` has a row for each row or column of the result, and a column for each product that is added up."""
        rows, blocks = matrix.size(0), -(-matrix.size(1) // _BLOCK)
        shapes: dict[int, list[tuple[int, ...]]] = {
            _ROW: [(rows, 1), (1, rows), (rows,)],
            _LINE: [(rows, blocks)],
            _SQUARE: [(-(-blocks // 4) * 4, -(-rows // _BLOCK))],
        }
        fits = scale.numel() == 1 if recipe == _TENSOR else tuple(scale.shape) in shapes[recipe]
        if scale.dtype != self._torch.float32 or not fits:
            raise _invalid(f"a scale of {scale.dtype} and shape {tuple(scale.shape)} for {rows} rows")


def _check_sizes(left: Tensor, right: Tensor, contraction_dim: Sequence[int]) -> None:
    if contraction_dim and tuple(contraction_dim) != (-1, -2):
        raise ValueError(f"contraction_dim must be (-1, -2), and not {tuple(contraction_dim)}")
    if left.dim() != 2 or right.dim() != 2 or left.size(1) != right.size(0):
        shapes = ("x".join(map(str, tensor.shape)) for tensor in (left, right))
        raise ValueError("mat_a and mat_b shapes cannot be multiplied ({} and {})".format(*shapes))


def _invalid(what: str) -> ValueError:
    return ValueError(f"Invalid scaling configuration: {what}")


def _spread(matrix: Tensor, scale: Tensor, recipe: int) -> Tensor:
    """A scale for each element. Those of squares come transposed, with more columns than there are blocks."""
    rows, columns = matrix.shape
    lines = scale if recipe == _LINE else scale.t().repeat_interleave(_BLOCK, 0)[:rows]
    return lines.repeat_interleave(_BLOCK, 1)[:, :columns]
