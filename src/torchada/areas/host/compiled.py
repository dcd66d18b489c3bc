"""x.device and x.is_cuda under torch.compile, which answers them from the tensor it traces: the traced function's view decides.

Where a tensor has been put is not known while it is traced, so a function that sees CUDA finds every tensor on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    from torch._dynamo.variables.tensor import TensorVariable

    asked: dict[str, Callable[[], object]] = {
        "device": lambda: context.torch.device("cuda", context.namespace.current_device()),
        "is_cuda": lambda: True,
        "is_cpu": lambda: False,
    }
    for name, answer in asked.items():
        original = vars(TensorVariable).get(f"method_attr_{name}")
        call = _answer(context, name, answer, original)
        yield Patch(TensorVariable, f"method_attr_{name}", call, None, note=f"Tensor.{name} under torch.compile")


def _answer(context: Context, name: str, answer: Callable[[], object], original: Any) -> Any:
    from torch._dynamo.variables.constant import ConstantVariable

    sees_cuda = context.views.sees_cuda

    def method_attr(self: Any, tx: Any) -> Any:
        if self.device is not None and self.device.type == "cpu" and sees_cuda(tx.f_globals):
            return ConstantVariable.create(answer())
        return original(self, tx) if original is not None else None

    return disguise(method_attr, original) if original is not None else method_attr
