"""torch.cuda.sparse.FloatTensor and the other types of that kind, as classes of coordinate tensors on the device.

A constructor leaves indices and values where they are, as CUDA's: only an empty tensor, made by its sizes, is put on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.type_names import SCALAR_TYPES

if TYPE_CHECKING:
    from torchada.redirect.types import DType


def patches(context: Context) -> Iterator[Patch]:
    sparse = context.torch.cuda.sparse
    for prefix, dtype in SCALAR_TYPES.items():
        name = f"{prefix}Tensor"
        if name in vars(sparse):
            own = _sparse_type(context, name, getattr(context.torch, dtype))
            to = "torch.sparse_coo_tensor"
            yield Patch(sparse, name, own, f"torch.cuda.sparse.{name}", kind="emulated", to=to)


def _sparse_type(context: Context, name: str, dtype: DType) -> type:
    torch, device = context.torch, context.backend.device_type

    class Meta(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, torch.Tensor) and (value.layout, value.device.type, value.dtype) == (
                torch.sparse_coo,
                device,
                dtype,
            )

    def __new__(cls: type, *args: Any) -> object:
        """(indices, values[, size]), or the sizes of an empty tensor, one by one or as a torch.Size; without any, (0,)."""
        place = None
        if not (args and isinstance(args[0], torch.Tensor)):
            sizes = args[0] if len(args) == 1 and isinstance(args[0], torch.Size) else args or (0,)
            args, place = (torch.empty((len(sizes), 0), dtype=torch.int64), torch.empty(0), sizes), device
        # Legacy constructors have never checked invariants, and have never warned about that.
        return torch.sparse_coo_tensor(*args, dtype=dtype, device=place, check_invariants=False)

    return Meta(name, (), {"__new__": __new__, "__module__": "torch.cuda.sparse", "dtype": dtype, "is_cuda": True})
