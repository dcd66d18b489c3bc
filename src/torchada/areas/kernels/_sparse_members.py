"""Sparse tensors of every layout, taken apart and put together again on another device, by what every backend has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def moved(torch: Any, tensor: Tensor, device: Any) -> Tensor:
    """The tensor on `device`, of the same layout."""
    if tensor.layout == torch.strided or tensor.layout == torch.jagged:
        return tensor.to(device)
    first, second, values = (member.to(device) for member in members(torch, tensor))
    more = {"dtype": tensor.dtype, "layout": tensor.layout, "device": device}
    made: Tensor
    if tensor.layout == torch.sparse_coo:
        dims = (first.size(0), values.dim() - 1)
        make = torch.ops.aten._sparse_coo_tensor_with_dims_and_tensors
        made = make(*dims, tensor.shape, first, values, is_coalesced=tensor.is_coalesced(), **more)
    else:
        made = torch.ops.aten._sparse_compressed_tensor_unsafe(first, second, values, tensor.shape, **more)
    return made


def members(torch: Any, tensor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The indices, of a compressed layout the compressed and the plain ones, and the values. COO has only one tensor of indices."""
    if tensor.layout == torch.sparse_coo:
        indices = tensor._indices()
        return indices, indices, tensor._values()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    return tensor.ccol_indices(), tensor.row_indices(), tensor.values()


def write(torch: Any, tensor: Tensor, value: Tensor) -> None:
    """Give `tensor`, whose operator has been computed elsewhere, the contents of `value`, of whatever shape that is now."""
    if tensor.layout == torch.strided:
        tensor.resize_(value.shape).copy_(value)
        return
    here, there = members(torch, tensor), members(torch, value)
    if tensor.shape == value.shape and all(a.shape == b.shape and a.dtype == b.dtype for a, b in zip(here, there)):
        for mine, new in zip(here, there):
            mine.copy_(new)
        if tensor.layout == torch.sparse_coo:
            tensor._coalesced_(value.is_coalesced())
    else:
        tensor.data = moved(torch, value, tensor.device)


def rows_and_columns(torch: Any, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of each stored element of a matrix (COO or CSR) the row, the column and the value."""
    first, second, values = members(torch, matrix)
    if matrix.layout == torch.sparse_coo:
        return first[0], first[1], values
    rows = torch.arange(matrix.size(0), device=values.device)
    return torch.repeat_interleave(rows, first.diff(), output_size=second.numel()), second, values
