"""`x.data = y` where one of them is on the device and the other on the CPU, and modules that move as a whole.

PyTorch gives a tensor new data in place only between the device types it lists as dense, and PrivateUse1 is not among them: the
assignment would be refused; and Module.to, which asks first, would make new parameters, so that optimizers held on to the old
ones and tied weights came apart, without a word. The copying itself does not care. It is an operator that says what fits, and it
gets a kernel for the backend's device: the tensor stays what it is for views, optimizers and the autograd graph, as on CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.kernels import Kernels, untraced

_OPERATOR = "_has_compatible_shallow_copy_type"


def patches(context: Context) -> Iterator[Patch]:
    torch, key = context.torch, context.backend.dispatch_key
    if torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{_OPERATOR}", key):
        raise Skip(f"{context.backend.adapter} has a kernel of its own for aten::{_OPERATOR}")
    # For autograd's key, too: an operator that CompositeImplicitAutograd serves no longer would be seen by __torch_dispatch__.
    kernels = Kernels(torch, key, f"Autograd{key}")
    yield Patch(kernels, _OPERATOR, _fits(torch, key), 'x.data = x.data.to("cuda"), Module.to("cuda")', kind="emulated")


def _fits(torch: Any, key: str) -> Callable[[Any, Any], bool]:
    keys_of, members = torch._C._dispatch_keys, torch._C.DispatchKey.__members__
    cpu, own = members["CPU"], members[key]
    elsewhere = getattr(torch.ops.aten, _OPERATOR).default.decompose

    def fits(tensor: Any, source: Any) -> bool:
        ours, theirs = keys_of(tensor), keys_of(source)
        # The keys of dense tensors: those of sparse and nested ones are others.
        if (ours.has(own) or ours.has(cpu)) and (theirs.has(own) or theirs.has(cpu)):
            return True
        return bool(elsewhere(tensor, source))

    return untraced(torch, fits)
