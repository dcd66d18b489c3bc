"""What CUDA's kernels of flash attention refuse, in their words (flash_api.cpp of PyTorch)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

_MULTIPLE, _LARGEST, _PAGE = 8, 256, 256


def check(is_right: bool, text: str) -> None:
    if not is_right:
        raise RuntimeError(text)


def check_devices(*tensors: Tensor | None) -> None:
    devices = list(dict.fromkeys(str(tensor.device) for tensor in tensors if tensor is not None))
    message = (
        f"Expected all tensors to be on the same device, but found at least two devices, {' and '.join(devices[:2])}!"
    )
    check(len(devices) == 1, message)


def check_types(torch: Any, query: Tensor, **others: Tensor) -> None:
    halves = (torch.float16, torch.bfloat16)
    check(query.dtype in halves, "FlashAttention only support fp16 and bf16 data type")
    for name, tensor in others.items():
        check(tensor.dtype == query.dtype, f"query and {name} must have the same dtype")


def check_rows(*tensors: Tensor) -> None:
    for tensor in tensors:
        check(tensor.stride(-1) == 1, "Input tensor must have contiguous last dimension")


def check_integers(torch: Any, shape: tuple[int, ...], **tensors: Tensor | None) -> None:
    """Offsets and lengths."""
    for name, tensor in tensors.items():
        if tensor is not None:
            check(tensor.dtype == torch.int32, f"{name} must have dtype int32")
            check(tensor.is_contiguous(), f"{name} must be contiguous")
            check_shape(name, tensor, *shape)


def check_table(torch: Any, table: Tensor, sequences: int, page: int) -> None:
    check(table.dtype == torch.int32, "block_table must have dtype torch.int32")
    check(table.stride(-1) == 1, "block_table must have contiguous last dimension")
    check(page % _PAGE == 0, f"Paged KV cache block size must be divisible by {_PAGE}")
    check_shape("block_table", table, sequences, table.size(-1))


def check_heads(query: Tensor, key: Tensor) -> None:
    size, heads, key_heads = query.size(-1), query.size(-2), key.size(-2)
    check(size <= _LARGEST, f"FlashAttention only supports head dimension at most {_LARGEST}")
    check(size % _MULTIPLE == 0, f"head_size must be a multiple of {_MULTIPLE}")
    is_group = key_heads > 0 and heads % key_heads == 0
    check(is_group, "Number of heads in key/value must divide number of heads in query")


def check_dimensions(dimensions: int, **tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        check(tensor.dim() == dimensions, f"{name} must have {dimensions} dimensions, and has {tensor.dim()}")


def check_shape(name: str, tensor: Tensor, *shape: int) -> None:
    check(tuple(tensor.shape) == shape, f"{name} must have shape {shape}, and has {tuple(tensor.shape)}")
