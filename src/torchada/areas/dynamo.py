"""torch.compile answers x.is_cuda from a table of its own, and would fold it to False."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    from torch._dynamo.variables.tensor import TensorVariable

    answer = _is_cuda(context, TensorVariable.method_attr_is_cuda)
    yield Patch(TensorVariable, "method_attr_is_cuda", answer, "Tensor.is_cuda under torch.compile")


def _is_cuda(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    device_type = context.backend.device_type

    def method_attr_is_cuda(self: Any, tx: Any) -> Any:
        if self.device is None or self.device.type != device_type:
            return original(self, tx)
        from torch._dynamo.variables.constant import ConstantVariable

        return ConstantVariable.create(True)

    return method_attr_is_cuda
