"""Operators with kernels for CUDA, and what torch tells of dispatch keys."""

from __future__ import annotations

from typing import Any

import torch

from support.compiled.program import Programs

PROGRAMS = Programs()
C: Any = torch._C
_LIBRARY = torch.library.Library("compiled_programs", "DEF")
_LIBRARY.define("twice(Tensor x) -> Tensor")
_LIBRARY.impl("twice", lambda x: x * 2, "CUDA")
_LIBRARY.impl("twice", lambda x: x * 20, "CPU")
torch.library.register_fake("compiled_programs::twice", lambda x: torch.empty_like(x), lib=_LIBRARY)


@torch.library.custom_op("compiled_programs::thrice", mutates_args=(), device_types="cpu")
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 30


@thrice.register_kernel("cuda")
def _(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@thrice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@PROGRAMS.add(native=False)
def library_kernel(x: torch.Tensor) -> Any:
    return torch.ops.compiled_programs.twice(x), torch.ops.compiled_programs.twice(x.cpu())


@PROGRAMS.add()
def custom_op(x: torch.Tensor) -> Any:
    return thrice(x), thrice(x.cpu()), torch.ops.compiled_programs.thrice(x.to("cuda:1"))


@PROGRAMS.add("torch._library.custom_ops.CustomOpDef.set_kernel_enabled", native=False)
def disabled_kernel(x: torch.Tensor) -> Any:
    with thrice.set_kernel_enabled("cuda", False):
        pass
    return thrice(x)


@PROGRAMS.add("torch._C._dispatch_has_kernel_for_dispatch_key", native=False)
def has_kernel(x: torch.Tensor) -> Any:
    return C._dispatch_has_kernel_for_dispatch_key("compiled_programs::twice", "CUDA"), x + 1


@PROGRAMS.add("torch._C._dispatch_has_computed_kernel_for_dispatch_key", native=False)
def has_computed_kernel(x: torch.Tensor) -> Any:
    return C._dispatch_has_computed_kernel_for_dispatch_key("compiled_programs::twice", "CUDA"), x + 1


@PROGRAMS.add("torch._C._dispatch_kernel_for_dispatch_key_is_fallthrough", native=False)
def is_fallthrough(x: torch.Tensor) -> Any:
    return C._dispatch_kernel_for_dispatch_key_is_fallthrough("compiled_programs::twice", "CUDA"), x + 1


@PROGRAMS.add("torch._C._dispatch_get_registrations_for_dispatch_key", native=False)
def registrations(x: torch.Tensor) -> Any:
    return "compiled_programs::twice" in C._dispatch_get_registrations_for_dispatch_key("CUDA"), x + 1


@PROGRAMS.add("torch._C._dispatch_has_backend_fallback", native=False)
def fallback(x: torch.Tensor) -> Any:
    return C._dispatch_has_backend_fallback(C.DispatchKey.CUDA), x + 1


@PROGRAMS.add(
    "torch._C._dispatch_get_backend_keyset_from_autograd", "torch._C._dispatch_keyset_full_after", native=False
)
def key_sets(x: torch.Tensor) -> Any:
    found = C._dispatch_get_backend_keyset_from_autograd(C.DispatchKey.AutogradCUDA)
    return str(found), C._dispatch_keyset_full_after(C.DispatchKey.CUDA).has(C.DispatchKey.CPU), x + 1


@PROGRAMS.add(
    "torch._C._dispatch_tls_is_dispatch_key_excluded", "torch._C._dispatch_tls_is_dispatch_key_included", native=False
)
def of_this_thread(x: torch.Tensor) -> Any:
    key = C.DispatchKey.AutocastCUDA
    return C._dispatch_tls_is_dispatch_key_excluded(key), C._dispatch_tls_is_dispatch_key_included(key), x + 1


@PROGRAMS.add(
    "torch._C._dispatch_tls_set_dispatch_key_excluded", "torch._C._dispatch_tls_set_dispatch_key_included", native=False
)
def set_for_this_thread(x: torch.Tensor) -> Any:
    key = C.DispatchKey.AutocastCUDA
    C._dispatch_tls_set_dispatch_key_excluded(key, C._dispatch_tls_is_dispatch_key_excluded(key))
    C._dispatch_tls_set_dispatch_key_included(key, False)
    return x + 1


@PROGRAMS.add(
    "torch.DispatchKeySet.__init__",
    "torch.DispatchKeySet.has",
    "torch.DispatchKeySet.add",
    "torch.DispatchKeySet.remove",
    native=False,
)
def set_of_keys(x: torch.Tensor) -> Any:
    keys = C.DispatchKeySet(C.DispatchKey.CUDA)
    more = keys.add(C.DispatchKey.AutogradCUDA)
    return keys.has(C.DispatchKey.CUDA), str(more), str(more.remove(C.DispatchKey.CUDA)), x + 1


@PROGRAMS.add("torch._C._SetExcludeDispatchKeyGuard.__init__", native=False)
def excluding(x: torch.Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16), C._SetExcludeDispatchKeyGuard(C.DispatchKey.AutocastCUDA, True):
        return x.view(1, 4) @ x.view(4, 1)


@PROGRAMS.add("torch._ops.OperatorBase.has_kernel_for_dispatch_key", native=False)
def operator_has_kernel(x: torch.Tensor) -> Any:
    return torch.ops.compiled_programs.twice.default.has_kernel_for_dispatch_key(C.DispatchKey.CUDA), x + 1
