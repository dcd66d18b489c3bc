"""torch.musa.FloatTensor and similar types, which are native in the vendor's build."""

from __future__ import annotations

from typing import Any

import torch

_DTYPES = {
    "BoolTensor": torch.bool,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "DoubleTensor": torch.float64,
    "FloatTensor": torch.float32,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "ShortTensor": torch.int16,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
}


class _LegacyType(type):
    """The metaclass of these types. In Python's sense, they have no instances."""

    dtype: torch.dtype
    layout = torch.strided
    is_cuda = False
    is_sparse = False

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.device.type == "musa"
            and instance.dtype == cls.dtype
            and instance.layout == cls.layout
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        # Tensor.new accepts sizes, sequences, storages and tensors, as the constructors do.
        return torch.empty(0, dtype=cls.dtype, device="musa").new(*args, **kwargs)

    # The type's own name is the long one, because Tensor.type() reads nothing else.
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return type.__dict__["__name__"].__get__(cls).rpartition(".")[2]  # type: ignore[no-any-return]

    def __repr__(cls) -> str:
        return f"<class 'torch.musa.{cls.__name__}'>"


def add_types(namespace: dict[str, Any], register: set[Any]) -> None:
    """Add the types to `namespace` (torch_musa's) and to `register`."""
    for name, dtype in _DTYPES.items():
        if name not in namespace:
            namespace[name] = _LegacyType(f"torch.musa.{name}", (), {"dtype": dtype, "__module__": "torch.musa"})
        register.add(namespace[name])
