"""The device's own kernels, also where torchada's stand before them."""

from __future__ import annotations

from typing import Any


def own_kernel(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """What `operator` (an overload: torch.ops.aten.multinomial.default) gives without torchada."""
    import torch

    # A gate in C++ keeps the kernel that it stands before under the second key.
    moved = torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), "PrivateUse3")
    key = torch._C.DispatchKey.PrivateUse3 if moved else torch._C.DispatchKey.PrivateUse1
    return operator.redispatch(torch._C.DispatchKeySet(key), *args, **kwargs)
