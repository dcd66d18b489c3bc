"""`x.data = y` where one of them is on the device and the other on the CPU.

PyTorch gives a tensor new data only between the device types it lists as dense, and PrivateUse1 is not among them; builds of
torch that come with a backend may have added it, and then nothing happens here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    original = torch._C.TensorBase.data
    data = property(original.__get__, _set_data(context, original.__set__))
    yield Patch(torch.Tensor, "data", data, 'x.data = x.data.to("cuda")')


def _set_data(context: Context, original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    torch, device_type = context.torch, context.backend.device_type

    def set_data(self: Any, value: Any) -> None:
        try:
            original(self, value)
        except RuntimeError:
            if not isinstance(value, torch.Tensor) or {self.device.type, value.device.type} != {"cpu", device_type}:
                raise
            if not self.is_leaf or self._backward_hooks or getattr(self, "_post_accumulate_grad_hooks", None):
                raise
            # Out of torch.compile's sight, which trips over the dictionaries of tensors.
            frames = torch._C._dynamo.eval_frame
            before = frames.set_eval_frame(None)
            try:
                _exchange(torch, self, value)
            finally:
                frames.set_eval_frame(before)

    return set_data


def _exchange(torch: Any, tensor: Any, value: Any) -> None:
    """Let `tensor` be what a tensor of its class, with the data of `value`, would be. Its gradient moves along."""
    other = value.detach()
    other.requires_grad_(tensor.requires_grad)
    if tensor.grad is not None:
        other.grad = tensor.grad.to(other.device)
    # These are swapped too, and are to stay what they were.
    other.__class__ = tensor.__class__
    vars(other).update(vars(tensor))
    torch.utils.swap_tensors(tensor, other)
