"""torch.library.opcheck with tensors of the device: one of its checks knows only CPU, CUDA and XPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    import torch

    class Operator(Protocol):
        """torch._ops.OpOverload, whose own methods have no types."""

        def name(self) -> str: ...

        def __call__(self, *args: object, **kwargs: object) -> object: ...

    Arguments: TypeAlias = tuple[object, ...]
    Keywords: TypeAlias = dict[str, object]
    Check: TypeAlias = Callable[[Operator, Arguments, Keywords], None]


def patches(context: Context) -> Iterator[Patch]:
    from torch.testing._internal import optests
    from torch.testing._internal.optests import autograd_registration, generate_tests

    original = autograd_registration.autograd_registration_check
    check = disguise(_check(context, original), original)
    for module in (autograd_registration, generate_tests, optests):
        yield Patch(module, "autograd_registration_check", check, None, note="torch.library.opcheck of CUDA tensors")


def _check(context: Context, original: Check) -> Check:
    """The check that torch does for CUDA: without a kernel for autograd, no new output may require a gradient."""
    torch, device_type = context.torch, context.backend.device_type
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    differentiated = (DispatchKeys(context).names["AutogradCUDA"], "Autograd", "CompositeImplicitAutograd")

    def autograd_registration_check(op: Operator, args: Arguments, kwargs: Keywords) -> None:
        given = _tensors(torch, (args, kwargs))
        if not any(tensor.device.type == device_type for tensor in given):
            original(op, args, kwargs)
            return
        if not any(tensor.requires_grad for tensor in given):
            raise RuntimeError(
                "autograd_registration_check: no input requires a gradient, so there is nothing to check"
            )
        if any(has_kernel(op.name(), key) for key in differentiated):
            return
        for output in _outputs(torch, op, args, kwargs):
            if output.requires_grad and not any(output is tensor for tensor in given):
                raise AssertionError(
                    f"{op.name()}: an output requires a gradient, but no autograd kernel is registered for the operator. "
                    "An autograd.Function belongs to the key Autograd, not to that of a device."
                )

    return autograd_registration_check


def _outputs(torch: ModuleType, op: Operator, args: Arguments, kwargs: Keywords) -> list[torch.Tensor]:
    """What `op` returns while torch does nothing in place of a missing autograd kernel."""
    mode = torch._C._get_autograd_fallback_mode()
    torch._C._set_autograd_fallback_mode("nothing")
    try:
        return _tensors(torch, op(*args, **kwargs))
    finally:
        torch._C._set_autograd_fallback_mode(mode)


def _tensors(torch: ModuleType, tree: object) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
