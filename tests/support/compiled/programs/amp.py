"""Autocast, scalers, gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint as checkpointed

from support.compiled.program import Programs

PROGRAMS = Programs()


def _product(x: torch.Tensor) -> torch.Tensor:
    return x.view(1, 4) @ x.view(4, 1)


@PROGRAMS.add("torch.amp.autocast_mode.autocast.__init__")
def autocast(x: torch.Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        one = _product(x)
    with torch.amp.autocast(device_type="cuda"):
        other = _product(x)
        with torch.autocast("cuda", enabled=False):
            inner = _product(x)
    return one, other, inner, _product(x)


@PROGRAMS.add()
def autocast_with_break(x: torch.Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        one = _product(x)
        torch._dynamo.graph_break()
        return one, _product(x)


@PROGRAMS.add(native=False)
def old_autocast(x: torch.Tensor) -> Any:
    with torch.cuda.amp.autocast():
        one = _product(x)
    with torch.cuda.amp.autocast(True, torch.bfloat16):
        return one, _product(x)


@PROGRAMS.add()
def autocast_as_decorator(x: torch.Tensor) -> Any:
    return torch.autocast("cuda", dtype=torch.bfloat16)(_product)(x)


@PROGRAMS.add("torch.amp.autocast_mode._cast")
def cast(x: torch.Tensor) -> Any:
    return torch.amp.autocast_mode._cast({"x": [x, 1], "y": (x.double(), "text")}, "cuda", torch.float16)


@PROGRAMS.add(
    "torch.is_autocast_enabled",
    "torch.get_autocast_dtype",
    "torch._C.is_autocast_enabled",
    "torch._C._is_autocast_available",
)
def asked(x: torch.Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        inner = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    outer = (
        torch.is_autocast_enabled("cuda"),
        torch._C._is_autocast_available("cuda"),
        torch._C.is_autocast_enabled("cuda"),
    )
    return inner, outer, torch.is_autocast_enabled(), x + 1


@PROGRAMS.add()
def asked_about_the_host(x: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (
            x + 1,
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_enabled("cpu"),
            torch.is_autocast_enabled("cuda"),
        )


@PROGRAMS.add("torch.get_autocast_gpu_dtype", native=False)
def asked_by_old_name(x: torch.Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return torch.get_autocast_gpu_dtype(), x + 1


@PROGRAMS.add("torch.set_autocast_enabled", "torch.set_autocast_dtype", "torch._C.set_autocast_enabled")
def set_by_hand(x: torch.Tensor) -> Any:
    before = torch.get_autocast_dtype("cuda")
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    y = _product(x)
    torch.set_autocast_dtype("cuda", before)
    torch.set_autocast_enabled("cuda", False)
    torch._C.set_autocast_enabled("cuda", False)
    return y, _product(x)


@PROGRAMS.add("torch.set_autocast_gpu_dtype", native=False)
def set_by_old_name(x: torch.Tensor) -> Any:
    before = torch.get_autocast_gpu_dtype()
    torch.set_autocast_gpu_dtype(torch.bfloat16)
    with torch.autocast("cuda"):
        y = _product(x)
    torch.set_autocast_gpu_dtype(before)
    return y


@PROGRAMS.add("torch.amp.grad_scaler.GradScaler.__init__")
def scaler(x: torch.Tensor) -> Any:
    return torch.amp.GradScaler("cuda", init_scale=4.0).scale(x), torch.amp.GradScaler(
        device="cuda", enabled=False
    ).scale(x)


class _Cast(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


@PROGRAMS.add()
def custom_function(x: torch.Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return _Cast.apply(x.to(torch.bfloat16))


@PROGRAMS.add()
def custom_function_with_gradient(x: torch.Tensor) -> Any:
    y = x.detach().clone().requires_grad_()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        z = _Cast.apply(y).sum()
    z.backward()
    return z, y.grad


@PROGRAMS.add("torch.amp.custom_fwd", "torch.amp.custom_bwd")
def custom_function_defined_inside(x: torch.Tensor) -> Any:
    forward = torch.amp.custom_fwd(lambda ctx, y: _product(y), device_type="cuda", cast_inputs=torch.float32)
    backward = torch.amp.custom_bwd(lambda ctx, y: y * 2, device_type="cuda")

    class Context:
        pass

    context: Any = Context()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return forward(context, x.half()), backward(context, x)


@PROGRAMS.add(
    "torch.utils.checkpoint._get_device_module",
    differs="torch's backend `eager` does not keep the random state for a recomputation, on every device; aot_eager does",
)
def checkpoint(x: torch.Tensor) -> Any:
    y = x.detach().clone().requires_grad_()
    z = checkpointed(lambda t: torch.nn.functional.dropout(t * t, 0.5), y, use_reentrant=False)
    z.sum().backward()
    return z, y.grad


@PROGRAMS.add()
def checkpoint_under_autocast(x: torch.Tensor) -> Any:
    y = x.detach().clone().requires_grad_()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        z = checkpointed(_product, y, use_reentrant=False)
    z.sum().backward()
    return z, y.grad


@PROGRAMS.add(native=False)
def conditional(x: torch.Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return torch.cond(x.sum() > 0, _product, lambda t: (t * t).sum().view(1, 1).bfloat16(), (x,))


@PROGRAMS.add("torch.cuda.amp.amp_definitely_not_available", native=False)
def amp_is_available(x: torch.Tensor) -> Any:
    return torch.cuda.amp.common.amp_definitely_not_available(), x + 1


@PROGRAMS.add()
def attention(x: torch.Tensor) -> Any:
    q = x.view(1, 1, 2, 2)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q)


@PROGRAMS.add()
def is_compiling(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = torch.ones_like(x, device="cuda:1")
    return y, x.to(y.device) if torch.compiler.is_exporting() else x
