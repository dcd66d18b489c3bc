"""What the backend's kernel refuses is computed in another way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import rules
from torchada.areas.kernels._selection import Gated
from torchada.redirect.context import Context

if TYPE_CHECKING:
    from torch._C import DispatchKeySet

    Function = Callable[..., Any]


class Refusing(Gated):
    """One operator: the backend's kernel, and `replacement` for the data types that it has refused."""

    rule = rules.REFUSED

    def __init__(self, context: Context, name: str, replacement: Function) -> None:
        super().__init__(context, name)
        self._replacement = replacement
        self._refused: set[tuple[Any, ...]] = set()
        torch = context.torch
        self._common = {torch.float32, torch.int64, torch.int32, torch.bool}

    @property
    def state(self) -> str:
        """What `torchada status` says of the kernel."""
        adapter = self._context.backend.adapter
        if not self._refused:
            return f"{adapter}'s kernel has refused no data type"
        types = sorted({str(dtype).removeprefix("torch.") for refused in self._refused for dtype in refused[1:]})
        return f"{adapter}'s kernel has refused {', '.join(types)}"

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        if self._refused and self._types(args, kwargs) in self._refused:
            return self._replacement(*args, **kwargs)
        try:
            return self._own(keys)(*args, **kwargs)
        except RuntimeError as error:
            types = self._types(args, kwargs)
            if types is None or isinstance(error, self._context.torch.OutOfMemoryError):
                raise
            refusal = error
        try:
            result = self._replacement(*args, **kwargs)
        except Exception:
            # The data type was not the reason, or the replacement does not support it either.
            raise refusal from None
        # Types that every kernel takes were refused for another reason, such as nine dimensions, and are tried again next time.
        if not self._common.issuperset(types[1:]):
            self._refused.add(types)
        return result

    def _types(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """Whether all tensors are dense, and then their data types; None unless all are on one device of the backend."""
        torch = self._context.torch
        tensors = [argument for argument in (*args, *kwargs.values()) if isinstance(argument, torch.Tensor)]
        devices = {tensor.device for tensor in tensors}
        if len(devices) != 1 or devices.pop().type != self._context.backend.device_type:
            return None
        # Kernels of other tensors call this one, or another, for what those are made of.
        is_dense = all(tensor.layout == torch.strided and not tensor.is_nested for tensor in tensors)
        return is_dense, *(tensor.dtype for tensor in tensors)
