"""`x.data = y` where one of them is on the device and the other on the CPU, and modules that move as a whole.

PyTorch replaces the data of a tensor in place only between the device types that it lists as dense, and PrivateUse1 is not among
them. The assignment would be refused. Module.to, which checks first, would make new parameters: optimizers would go on with the
old ones and tied weights would come apart, without any message. Builds of torch that come with a backend may list PrivateUse1, as
Moore Threads' does, and then their own answer counts.

The check is an operator, `aten::_has_compatible_shallow_copy_type`; the copying itself works for any device. So the operator gets
another answer during the assignment, and the tensor stays the same object for views, optimizers and the autograd graph, as on CUDA.
Swapping two tensors would not work, because a graph that was made before would send its gradients to the tensor that the program no
longer sees. A kernel that stays registered would cost every assignment on the device a call from C++ to Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import Tensor

    Fits = Callable[[Tensor, Tensor], bool]

_OPERATOR = "_has_compatible_shallow_copy_type"

# Reentrant, because an assignment to a subclass with __torch_function__ makes another one within itself.
_lock = RLock()
_registered = False


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    asked, fits = getattr(torch, _OPERATOR), _fits(torch, context.backend.names.dispatch_key)
    yield Patch(torch, _OPERATOR, _asked_first(asked, fits), None, note='Module.to("cuda") keeps its parameters')
    original = torch._C.TensorBase.data
    data = property(original.__get__, _set_data(context, original.__set__, asked, fits))
    yield Patch(torch.Tensor, "data", data, None, note='x.data = x.data.to("cuda")')


def _fits(torch: ModuleType, key: str) -> Fits:
    """Whether both tensors are dense and on the CPU or the device. Sparse and nested tensors have other dispatch keys."""
    keys_of, members = torch._C._dispatch_keys, torch._C.DispatchKey.__members__
    cpu, own = members["CPU"], members[key]

    def fits(tensor: Tensor, source: Tensor) -> bool:
        return all(keys.has(cpu) or keys.has(own) for keys in (keys_of(tensor), keys_of(source)))

    return fits


def _asked_first(original: Fits, fits: Fits) -> Fits:
    # torch.compile has a replacement for it and compares the names of its parameters, except where there are none.
    def asked(*tensors: Tensor) -> bool:
        return original(*tensors) or fits(*tensors)

    return disguise(asked, original)


def _set_data(
    context: Context, original: Callable[[Tensor, Tensor], None], asked: Fits, fits: Fits
) -> Callable[[Tensor, Tensor], None]:
    torch, key = context.torch, context.backend.names.dispatch_key
    types = {"cpu", context.backend.device_type}

    def set_data(self: Tensor, value: Tensor) -> None:
        # The cheap check comes first: most data stays on its device, and an attempt that torch refuses costs more than the rest.
        try:
            stays = self.is_cuda is value.is_cuda
        except AttributeError:  # no tensor: torch's own error names it
            stays = True
        if stays or {self.device.type, value.device.type} != types or asked(self, value) or not fits(self, value):
            original(self, value)
            return
        # Not traced by torch.compile: what is registered here is not part of the program.
        frames = torch._C._dynamo.eval_frame
        before = frames.set_eval_frame(None)
        try:
            with _answered_by(torch, fits, key):
                original(self, value)
        finally:
            frames.set_eval_frame(before)

    return set_data


@contextmanager
def _answered_by(torch: ModuleType, fits: Fits, key: str) -> Iterator[None]:
    global _registered
    with _lock:
        if _registered:
            yield
            return
        library = torch.library.Library("aten", "IMPL")
        try:
            # For autograd's key as well: CompositeImplicitAutograd no longer serves the operator then, and __torch_dispatch__ would
            # see it.
            for dispatch_key in (key, f"Autograd{key}"):
                library.impl(_OPERATOR, fits, dispatch_key)
            _registered = True
            yield
        finally:
            _registered = False
            library._destroy()
