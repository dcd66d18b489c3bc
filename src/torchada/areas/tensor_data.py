"""`x.data = y` where one of them is on the device and the other on the CPU.

PyTorch gives a tensor new data only between the device types it lists as dense, and PrivateUse1 is not among them; builds of
torch that come with a backend may have added it, and then nothing happens here.

What refuses is an operator, `aten::_has_compatible_shallow_copy_type`, and the copying itself does not care. So the operator
gets another answer for the time of the assignment: the tensor stays what it is for views, optimizers and the autograd graph, as on
CUDA. Swapping two tensors would not do: gradients of a graph made before would go to the one that nobody sees any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

# A subclass with __torch_function__ comes here again on its way, within the first assignment.
_lock = RLock()
_registered = False


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    original = torch._C.TensorBase.data
    data = property(original.__get__, _set_data(context, original.__set__))
    yield Patch(torch.Tensor, "data", data, 'x.data = x.data.to("cuda")')


def _set_data(context: Context, original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    torch, device_type = context.torch, context.backend.device_type
    key = context.backend.dispatch_key

    def set_data(self: Any, value: Any) -> None:
        try:
            original(self, value)
        except RuntimeError:
            if not isinstance(value, torch.Tensor) or {self.device.type, value.device.type} != {"cpu", device_type}:
                raise
            # Out of torch.compile's sight, which has no business with what is registered.
            frames = torch._C._dynamo.eval_frame
            before = frames.set_eval_frame(None)
            try:
                with _any_type_is_compatible(torch, key):
                    original(self, value)
            finally:
                frames.set_eval_frame(before)

    return set_data


@contextmanager
def _any_type_is_compatible(torch: Any, key: str) -> Iterator[None]:
    global _registered
    with _lock:
        if _registered:
            yield
            return
        library = torch.library.Library("aten", "IMPL")
        try:
            library.impl("_has_compatible_shallow_copy_type", _yes, key)
            _registered = True
            yield
        finally:
            _registered = False
            library._destroy()


def _yes(tensor: Any, source: Any) -> bool:
    return True
