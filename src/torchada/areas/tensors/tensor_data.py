"""`x.data = y` where one of them is on the device and the other on the CPU, and modules that move as a whole.

PyTorch gives a tensor new data in place only between the device types it lists as dense, and PrivateUse1 is not among them: the
assignment would be refused; and Module.to, which asks first, would make new parameters, so that optimizers held on to the old
ones and tied weights came apart, without a word. Builds of torch that come with a backend may have added it, and then nothing
happens here.

What refuses is an operator, `aten::_has_compatible_shallow_copy_type`, and the copying itself does not care. So the operator
gets another answer for the time of the assignment: the tensor stays what it is for views, optimizers and the autograd graph, as on
CUDA. Swapping two tensors would not do: gradients of a graph made before would go to the one that nobody sees any more. Nor would
a kernel that stays: whatever is on the device would pay for a call from C++ to Python with every assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_OPERATOR = "_has_compatible_shallow_copy_type"
Fits = Callable[[Any, Any], bool]

# A subclass with __torch_function__ comes here again on its way, within the first assignment.
_lock = RLock()
_registered = False


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    asked, fits = getattr(torch, _OPERATOR), _fits(torch, context.backend.names.dispatch_key)
    yield Patch(torch, _OPERATOR, _asked_first(asked, fits), None, note='Module.to("cuda") keeps its parameters')
    original = torch._C.TensorBase.data
    data = property(original.__get__, _set_data(context, original.__set__, fits))
    yield Patch(torch.Tensor, "data", data, None, note='x.data = x.data.to("cuda")')


def _fits(torch: Any, key: str) -> Fits:
    """Whether both tensors are dense, on the CPU or the device. The dispatch keys of sparse and nested tensors are others."""
    keys_of, members = torch._C._dispatch_keys, torch._C.DispatchKey.__members__
    cpu, own = members["CPU"], members[key]

    def fits(tensor: Any, source: Any) -> bool:
        return all(keys.has(cpu) or keys.has(own) for keys in (keys_of(tensor), keys_of(source)))

    return fits


def _asked_first(original: Fits, fits: Fits) -> Fits:
    # torch.compile has a function of its own for it and compares the parameters' names, but not where there are none.
    def asked(*tensors: Any) -> bool:
        return original(*tensors) or fits(*tensors)

    return disguise(asked, original)


def _set_data(context: Context, original: Callable[[Any, Any], None], fits: Fits) -> Callable[[Any, Any], None]:
    torch, key = context.torch, context.backend.names.dispatch_key
    types = {"cpu", context.backend.device_type}

    def set_data(self: Any, value: Any) -> None:
        # What is cheap comes first: most data stays where it is, and to let torch refuse would cost more than all the rest.
        try:
            stays = self.is_cuda is value.is_cuda
        except AttributeError:  # no tensor: torch's own error names it
            stays = True
        if stays or {self.device.type, value.device.type} != types:
            original(self, value)
            return
        # Out of torch.compile's sight, which has no business with what is registered.
        frames = torch._C._dynamo.eval_frame
        before = frames.set_eval_frame(None)
        try:
            with _answered_by(torch, fits, key):
                original(self, value)
        finally:
            frames.set_eval_frame(before)

    return set_data


@contextmanager
def _answered_by(torch: Any, fits: Fits, key: str) -> Iterator[None]:
    global _registered
    with _lock:
        if _registered:
            yield
            return
        library = torch.library.Library("aten", "IMPL")
        try:
            # For autograd's key, too: what CompositeImplicitAutograd serves no longer would be seen by __torch_dispatch__.
            for each in (key, f"Autograd{key}"):
                library.impl(_OPERATOR, fits, each)
            _registered = True
            yield
        finally:
            _registered = False
            library._destroy()
