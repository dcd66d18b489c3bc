"""Products with weights of four bits, which torchao packs as CUDA's tensor cores take them (ATen/native/cuda/int4mm.cu).

torch_musa 2.7.1 registers neither operator. The product of 2.9.1 reads other numbers than were packed, by its source (int4mm.mu).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Kernel
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context

if TYPE_CHECKING:
    from torch import Tensor

# A tile of a packed weight has eight rows of sixteen columns, and a word has four columns of each of two tiles.
_ROWS, _COLUMNS, _GROUPS = 8, 16, (32, 64, 128, 256)


def kernels(context: Context) -> Iterator[Kernel]:
    verdicts, weights = Verdicts(context), _Weights(context.torch)
    yield Kernel(context, "_convert_weight_to_int4pack", weights.packed, weights.packs_rightly, verdicts)
    yield Kernel(context, "_weight_int4pack_mm", weights.product, weights.multiplies_rightly, verdicts)


class _Weights:
    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def packed(self, weight: Tensor, tiles: int) -> Tensor:
        """(n, k / 2) of bytes, an even column in the upper half -> (n / 8, k / 16 / tiles, 32, tiles / 2) of int32."""
        torch = self._torch
        _expect(weight.dim() == 2, "in.dim() == 2")
        _expect(weight.dtype == torch.uint8, "in.dtype() == at::kByte")
        _expect(weight.is_contiguous(), "in.is_contiguous()")
        _expect(tiles in (2, 4, 8), "innerKTiles == 2 || innerKTiles == 4 || innerKTiles == 8")
        rows, width = weight.shape
        _expect(
            width > 0 and width * 2 % (tiles * _COLUMNS) == 0, "isEvenDivisor(in.size(1) * 2, innerKTiles * kKTileSize)"
        )
        padded = torch.nn.functional.pad(weight, (0, 0, 0, -rows % _ROWS))
        # Rows of a tile, pairs of tiles, the four bytes of a word, and the lanes that have a word each.
        parts = padded.reshape(-1, _ROWS, width * 2 // (tiles * _COLUMNS), tiles // 2, 4, 4)
        parts = parts.permute(0, 2, 1, 5, 3, 4).int()
        places = torch.arange(4, dtype=torch.int32, device=weight.device) * 4
        words = ((parts >> 4) << places) | ((parts & 15) << (places + 16))
        words = words.sum(-1, dtype=torch.int32)
        packed: Tensor = words.reshape(len(padded) // _ROWS, -1, 32, tiles // 2)
        return packed

    def product(self, given: Tensor, weight: Tensor, group: int, scales_and_zeros: Tensor) -> Tensor:
        """(m, k) of bfloat16 with n packed rows of k numbers -> (m, n); a scale and a zero for each row and `group` of columns."""
        self._check(given, weight, group, scales_and_zeros)
        scales, zeros = (part.t().unsqueeze(-1).float() for part in scales_and_zeros.unbind(-1))
        numbers = self._unpacked(weight).reshape(*scales.shape[:2], group)
        restored = (numbers * scales + zeros).to(given.dtype)
        product: Tensor = given @ restored.reshape(-1, given.shape[1]).t()
        return product

    def _check(self, given: Tensor, weight: Tensor, group: int, scales_and_zeros: Tensor) -> None:
        torch = self._torch
        _expect(
            given.device == weight.device == scales_and_zeros.device,
            "A.device() == B.device() && A.device() == qScaleAndZeros.device()",
        )
        _expect(given.dtype == torch.bfloat16, "A.dtype() == at::kBFloat16")
        _expect(given.is_contiguous(), "A.is_contiguous()")
        _expect(given.dim() == 2, "A.dim() == 2")
        _expect(weight.dtype == torch.int32, "B.dtype() == at::kInt")
        _expect(weight.is_contiguous(), "B.is_contiguous()")
        _expect(weight.dim() == 4, "B.dim() == 4")
        tiles, depth = weight.shape[3] * 2, given.shape[1]
        _expect(tiles in (2, 4, 8), "B_innerKTiles == 2 || B_innerKTiles == 4 || B_innerKTiles == 8")
        _expect(weight.shape[1] * tiles * _COLUMNS == depth, "B.size(1) == k / (B_innerKTiles * kKTileSize)")
        _expect(weight.shape[2] == 32, "B.size(2) == 32")
        _expect(group in _GROUPS, "qGroupSize == 32 || qGroupSize == 64 || qGroupSize == 128 || qGroupSize == 256")
        _expect(depth >= group and depth % group == 0, "isEvenDivisor(kTiles * kKTileSize, qGroupSize)")
        _expect(
            scales_and_zeros.shape == (depth // group, len(weight) * _ROWS, 2),
            "qScaleAndZeros.size(0) == k / qGroupSize && qScaleAndZeros.size(1) == n && qScaleAndZeros.size(2) == 2",
        )

    def _unpacked(self, weight: Tensor) -> Tensor:
        """(rows, columns), numbers from -8 to 7."""
        words = weight.reshape(*weight.shape[:2], _ROWS, 4, -1, 1)
        places = self._torch.arange(8, dtype=words.dtype, device=words.device) * 4
        numbers = ((words >> places) & 15) - 8
        # A digit's place says: the odd or the even column, the tile, the half of the tile.
        numbers = numbers.reshape(*numbers.shape[:-1], 2, 2, 2)
        rows: Tensor = numbers.permute(0, 2, 1, 4, 6, 7, 3, 5).reshape(len(weight) * _ROWS, -1)
        return rows

    def _sample(self, device: Any) -> Tensor:
        """Eight rows of 32 numbers, in each of which no two neighbours are equal."""
        torch = self._torch
        sample: Tensor = (torch.arange(8 * 16, device=device).reshape(8, 16) * 37 % 251).to(torch.uint8)
        return sample

    def packs_rightly(self, kernel: Function, device: Any) -> bool:
        host = self._torch.device("cpu")
        return bool(self._torch.equal(kernel(self._sample(device), 2).cpu(), self.packed(self._sample(host), 2)))

    def multiplies_rightly(self, kernel: Function, device: Any) -> bool:
        torch, bytes_ = self._torch, self._sample("cpu")
        wanted = torch.stack([bytes_ >> 4, bytes_ & 15], -1).flatten(1).float() - 8
        columns = torch.eye(32, dtype=torch.bfloat16, device=device)
        pairs = torch.tensor([2.0, 1.0], dtype=torch.bfloat16, device=device).repeat(1, 8, 1)
        found = kernel(columns, self.packed(self._sample(device), 2), 32, pairs)
        return bool(torch.equal(found.cpu().float().t(), wanted * 2 + 1))


def _expect(holds: bool, what: str) -> None:
    """CUDA's words, which are those of a check without a message of its own."""
    if not holds:
        raise RuntimeError(f"Expected {what} to be true, but got false.")
