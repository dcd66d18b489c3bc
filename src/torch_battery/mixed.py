"""Automatic mixed precision: autocast and the gradient scaler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch.nn import functional as F

from torch_battery.check import Tolerance, expect
from torch_battery.compare import same
from torch_battery.inputs import Inputs
from torch_battery.table import Program

GROUP = "amp"
_LOW = (torch.float16, torch.bfloat16)
_HALF = Tolerance(2e-2, 2e-2)


def _numbers(*shape: int) -> torch.Tensor:
    return Inputs(torch.float32, "mixed")(*shape).cuda()


def _lower() -> None:
    """Products are computed in the type of the region."""
    x = _numbers(4, 4)
    for dtype in _LOW:
        with torch.autocast("cuda", dtype=dtype):
            results = {"x @ x": x @ x, "F.linear": F.linear(x, x), "torch.bmm": torch.bmm(x[None], x[None])}
        for text, result in results.items():
            expect(result.dtype == dtype, f"under autocast({dtype}) {text} is {result.dtype}")


def _higher() -> None:
    """Sums and exponentials are computed in float32."""
    x = _numbers(4, 4).half()
    with torch.autocast("cuda"):
        results = {
            "softmax": x.softmax(-1),
            "log_softmax": x.log_softmax(-1),
            "sum": x.sum(),
            "exp": x.exp(),
            "layer_norm": F.layer_norm(x, (4,)),
            "mse_loss": F.mse_loss(x, x),
            "pow": x.pow(2),
        }
    for text, result in results.items():
        expect(result.dtype == torch.float32, f"under autocast {text} of float16 is {result.dtype}")


def _nested() -> None:
    x = _numbers(4, 4)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        with torch.autocast("cuda", enabled=False):
            expect((x @ x).dtype == torch.float32, "autocast(enabled=False) does not switch autocast off")
        expect((x @ x).dtype == torch.bfloat16, "autocast does not go on after an inner region")
        expect(torch.get_autocast_dtype("cuda") == torch.bfloat16, "get_autocast_dtype does not tell the region's type")
    expect((x @ x).dtype == torch.float32, "autocast does not end")


def _promoted() -> None:
    x = _numbers(4)
    with torch.autocast("cuda", dtype=torch.float16):
        expect(torch.cat([x, x.half()]).dtype == torch.float32, "cat of float16 and float32 is not widened")


def _values(dtype: torch.dtype) -> float:
    host = Inputs(torch.float32, "values")(16, 16)
    with torch.autocast("cuda", dtype=dtype):
        actual = F.relu(host.cuda() @ host.cuda()).softmax(-1)
    expected = F.relu(host.double() @ host.double()).softmax(-1)
    return same(actual, expected, _HALF.times(4 if dtype == torch.bfloat16 else 1), "a product under autocast")


def _gradients() -> float:
    host = Inputs(torch.float32, "autocast")(16, 16)
    own, reference = host.cuda().requires_grad_(), host.double().requires_grad_()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = (own @ own).float().tanh().mean()
    loss.backward()
    (reference @ reference).tanh().mean().backward()
    expect(
        own.grad is not None and own.grad.dtype == torch.float32, "the gradient of a float32 tensor has another type"
    )
    return same(own.grad, reference.grad, _HALF, "a gradient under autocast")


def _scaler() -> tuple[torch.nn.Parameter, torch.optim.Optimizer, torch.amp.GradScaler]:
    weight = torch.nn.Parameter(torch.ones(4, device="cuda"))
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=2)
    return weight, torch.optim.SGD([weight], lr=0.5), scaler


def _scaled_step() -> None:
    weight, optimizer, scaler = _scaler()
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        expect(weight.grad is not None and bool((weight.grad == 1024).all()), "the gradient is not scaled")
        scaler.step(optimizer)
        scaler.update()
    expect(weight.tolist() == [0.0] * 4, f"two steps with scaled gradients give {weight.tolist()} and not zeros")
    expect(scaler.get_scale() == 2048, f"the scale is {scaler.get_scale()} after two good steps, not 2048")


def _overflow() -> None:
    weight, optimizer, scaler = _scaler()
    scaler.scale((weight * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    expect(weight.tolist() == [1.0] * 4, "a step with infinite gradients was not skipped")
    expect(scaler.get_scale() == 512, f"the scale is {scaler.get_scale()} after an overflow, not 512")


def _clipped() -> None:
    weight, optimizer, scaler = _scaler()
    scaler.scale((weight * 3).sum()).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_([weight], 1.0)
    expect(abs(norm.item() - 6) < 1e-4, f"the norm of the unscaled gradients is {norm.item()}, not 6")
    scaler.step(optimizer)
    expect(abs(weight[0].item() - 0.75) < 1e-4, f"a clipped step gives {weight[0].item()}, not 0.75")


def _saved() -> None:
    _, _, scaler = _scaler()
    again = torch.amp.GradScaler("cuda")
    again.load_state_dict(scaler.state_dict())
    expect(again.get_scale() == 1024, "a scaler does not restore its state")


def _old_names() -> None:
    x = _numbers(4, 4)
    with torch.cuda.amp.autocast():
        expect((x @ x).dtype == torch.float16, "torch.cuda.amp.autocast has no effect")


def _custom_function() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx: object, *grads: torch.Tensor) -> torch.Tensor:
            return grads[0]

    with torch.autocast("cuda"):
        product = Product.apply(_numbers(4, 4).half())
    expect(product.dtype == torch.float32, f"custom_fwd(cast_inputs=torch.float32) computes in {product.dtype}")


def _row(subject: str, run: Callable[[], float | None], tolerance: Tolerance | None = None) -> Program:
    return Program(subject, run, tolerance=tolerance)


TABLE = [
    Program("lower_precision", _lower, "quick"),
    _row("float32_operators", _higher),
    _row("nested", _nested),
    _row("promotion", _promoted),
    _row("values_float16", partial(_values, torch.float16), _HALF),
    _row("values_bfloat16", partial(_values, torch.bfloat16), _HALF.times(4)),
    _row("gradients", _gradients, _HALF),
    Program("scaler", _scaled_step, "quick"),
    _row("scaler_overflow", _overflow),
    _row("scaler_clipping", _clipped),
    _row("scaler_state", _saved),
    _row("cuda_amp", _old_names),
    _row("custom_function", _custom_function),
]
