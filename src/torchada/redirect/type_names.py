"""The types that older code uses: torch.cuda.FloatTensor and the similar ones, as strings and as classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchada.redirect.context import Context

if TYPE_CHECKING:
    from torch import Tensor
    from torch import dtype as DType

SCALAR_TYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Bool": "bool",
}


class LegacyTypes:
    """Translation between torch.cuda.XTensor, the backend's own torch.<namespace>.XTensor, and dtypes."""

    def __init__(self, context: Context) -> None:
        torch, namespace = context.torch, context.backend.namespace
        self._torch = torch
        self._dtypes: dict[object, DType] = {}
        self._own = f"torch.{namespace}."
        for prefix, dtype in SCALAR_TYPES.items():
            cuda = f"torch.cuda.{prefix}Tensor"
            classes = (
                getattr(torch.cuda, f"{prefix}Tensor", None),
                getattr(context.namespace, f"{prefix}Tensor", None),
            )
            for key in (cuda, *filter(None, classes)):
                self._dtypes[key] = getattr(torch, dtype)

    def made(self, prefix: str, own: type | None) -> type:
        """A class in the place of torch.cuda.<prefix>Tensor. `own` is the backend's, which has another name, if there is one."""
        torch, dtype = self._torch, getattr(self._torch, SCALAR_TYPES[prefix])

        class Meta(type):
            def __instancecheck__(cls, value: object) -> bool:
                return isinstance(value, torch.Tensor) and value.type() == f"torch.cuda.{prefix}Tensor"

        def __new__(cls: type, *args: Any, **kwargs: Any) -> Tensor:
            if own is not None:
                return own(*args, **kwargs)  # type: ignore[no-any-return]
            tensor: Tensor = getattr(torch, f"{prefix}Tensor")(*args)
            return tensor.to("cuda")

        shown = {"dtype": dtype, "layout": torch.strided, "is_cuda": True, "is_sparse": False}
        made = Meta(f"{prefix}Tensor", (), {"__new__": __new__, "__module__": "torch.cuda", **shown})
        self._dtypes[made] = dtype
        return made

    def as_cuda(self, name: str) -> str:
        """The name that CUDA code expects for the type that the backend calls `name`."""
        return f"torch.cuda.{name[len(self._own) :]}" if name.startswith(self._own) else name

    def prefix(self, dtype: DType) -> str:
        """The beginning of the names of types with this dtype."""
        return next(prefix for prefix, name in SCALAR_TYPES.items() if getattr(self._torch, name) == dtype)

    def scalar_type(self, legacy: object) -> DType | None:
        """The dtype of a legacy type for the device, given as a string or a class; None for anything else."""
        if isinstance(legacy, type) and legacy.__module__ == "torch.cuda":
            legacy = f"torch.cuda.{legacy.__name__}"  # which may be one that an area has made
        try:
            return self._dtypes.get(legacy)
        except TypeError:
            return None
