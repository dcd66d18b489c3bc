"""Mixed precision under each of its names."""

from __future__ import annotations

import copy
import pickle
import textwrap
import warnings
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter

A = torch.ones(4, 4)


def _dtype() -> torch.dtype:
    a = A.cuda()
    return (a @ a).dtype


@pytest.mark.parametrize(
    "context",
    [
        lambda: torch.autocast("cuda"),
        lambda: torch.autocast(device_type="cuda"),
        lambda: torch.autocast("cuda", torch.float16),
        lambda: torch.amp.autocast("cuda", dtype=torch.float16),
        lambda: torch.amp.autocast_mode.autocast("cuda"),
    ],
)
def test_autocast(context: Any) -> None:
    assert _dtype() is torch.float32
    with context():
        assert _dtype() is torch.float16
        assert torch.is_autocast_enabled("cuda")
        with torch.autocast("cuda", enabled=False):
            assert _dtype() is torch.float32
    assert _dtype() is torch.float32
    assert not torch.is_autocast_enabled("cuda")


@pytest.mark.filterwarnings("ignore:.*torch.cuda.amp:FutureWarning")
def test_torch_cuda_amp_autocast_and_grad_scaler() -> None:
    with torch.cuda.amp.autocast():
        assert _dtype() is torch.float16
    with torch.cuda.amp.autocast(dtype=torch.bfloat16):
        assert _dtype() is torch.bfloat16
    assert torch.cuda.amp.GradScaler().is_enabled()


def test_submodules_of_torch_cuda_amp() -> None:
    from torch.cuda.amp import autocast_mode, common, grad_scaler

    assert autocast_mode.autocast is torch.cuda.amp.autocast and grad_scaler.GradScaler is torch.cuda.amp.GradScaler
    assert common.amp_definitely_not_available is torch.cuda.amp.amp_definitely_not_available


def test_autocast_as_decorator() -> None:
    @torch.autocast("cuda", dtype=torch.bfloat16)
    def product() -> torch.dtype:
        return _dtype()

    assert product() is torch.bfloat16


def test_a_context_can_be_copied_and_pickled() -> None:
    context = torch.autocast("cuda", dtype=torch.bfloat16)
    for again in (copy.deepcopy(context), pickle.loads(pickle.dumps(context))):
        assert again.device == "cuda"
        with again:
            assert _dtype() is torch.bfloat16
        assert _dtype() is torch.float32


def test_the_names_are_one_class() -> None:
    assert torch.autocast is torch.amp.autocast is torch.amp.autocast_mode.autocast
    assert issubclass(torch.cuda.amp.autocast, torch.autocast)


def test_autocast_of_the_cpu_is_untouched() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (A @ A).dtype is torch.bfloat16
        assert _dtype() is torch.float32


def test_an_unknown_device_type_is_refused() -> None:
    with pytest.raises(RuntimeError, match="nonsense"):
        torch.autocast("nonsense")


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_inside_and_around_compile(backend: str, dtype: torch.dtype) -> None:
    torch._dynamo.reset()

    def inside(a: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", dtype=dtype):
            return a @ a

    def product(a: torch.Tensor) -> torch.Tensor:
        return a @ a

    a = A.cuda()
    assert torch.compile(inside, backend=backend, fullgraph=True)(a).dtype is dtype
    compiled = torch.compile(product, backend=backend, fullgraph=True)
    with torch.autocast("cuda", dtype=dtype):
        assert compiled(a).dtype is dtype
    assert compiled(a).dtype is torch.float32


def test_is_autocast_enabled_and_get_autocast_dtype() -> None:
    assert torch.get_autocast_dtype("cuda") is torch.float16
    assert not torch.is_autocast_enabled("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("cuda") and torch.is_autocast_enabled()
        assert torch.get_autocast_dtype("cuda") is torch.bfloat16
        assert not torch.is_autocast_enabled("cpu")
    assert torch.get_autocast_dtype("cuda") is torch.float16


@pytest.mark.parametrize("owner", [torch, torch._C])
def test_without_a_device_type_cuda_is_meant(owner: Any) -> None:
    assert not owner.is_autocast_enabled()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not owner.is_autocast_enabled() and owner.is_autocast_enabled("cpu")
    with torch.autocast("cuda"):
        assert owner.is_autocast_enabled() and not owner.is_autocast_enabled("cpu")
    with pytest.raises(TypeError):
        owner.is_autocast_enabled(None)


@pytest.mark.filterwarnings("ignore:.*set_autocast_enabled:DeprecationWarning")
@pytest.mark.parametrize("owner", [torch, torch._C])
def test_autocast_of_cuda_is_switched_by_a_flag_alone(owner: Any) -> None:
    owner.set_autocast_enabled(True)
    try:
        assert torch.is_autocast_enabled("cuda") and not torch.is_autocast_enabled("cpu")
        assert _dtype() is torch.float16
    finally:
        owner.set_autocast_enabled(enabled=False)
    assert not torch.is_autocast_enabled("cuda")
    with pytest.raises(TypeError):
        owner.set_autocast_enabled("cuda")


def test_get_and_set_autocast_gpu_dtype() -> None:
    assert torch.get_autocast_gpu_dtype() is torch.float16
    assert torch.amp.is_autocast_available("cuda")
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    try:
        assert torch.get_autocast_gpu_dtype() is torch.bfloat16
    finally:
        torch.set_autocast_gpu_dtype(torch.float16)
    assert torch.get_autocast_dtype("cuda") is torch.float16


def test_float16_stays_float16() -> None:
    """Nothing makes bfloat16 of it: the device has both, and the program's choice counts."""
    assert torch.ones(1, dtype=torch.float16, device="cuda").dtype is torch.float16
    assert A.cuda().half().dtype is torch.nn.Linear(2, 2).cuda().half().weight.dtype is torch.float16


def test_state_by_keyword() -> None:
    torch.set_autocast_enabled(device_type="cuda", enabled=True)
    try:
        assert torch.is_autocast_enabled(device_type="cuda")
        assert torch.get_autocast_dtype(device_type="cuda") is torch.float16
    finally:
        torch.set_autocast_enabled("cuda", False)
    assert not torch.is_autocast_enabled("cuda")


@pytest.mark.parametrize(
    "make",
    [lambda: torch.amp.GradScaler("cuda"), lambda: torch.amp.GradScaler(), lambda: torch.GradScaler(device="cuda")],
)
def test_grad_scaler_trains_and_skips_infinite_steps(make: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler = make()
    assert scaler.is_enabled()
    weight = torch.nn.Parameter(torch.ones(2, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler.scale((weight * 2).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.allclose(weight.detach().cpu(), torch.tensor([0.8, 0.8]))
    before, scale = weight.detach().clone(), scaler.get_scale()
    weight.grad = torch.full_like(weight, float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(weight.detach(), before)
    assert scaler.get_scale() == scale / 2
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == scaler.get_scale()


def _function(cast_forward: Any, cast_backward: Any) -> type[torch.autograd.Function]:
    class Product(torch.autograd.Function):
        @staticmethod
        @cast_forward
        def forward(ctx: Any, a: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(a)
            ctx.seen = a.dtype
            Product.seen = a.dtype  # type: ignore[attr-defined]
            return a @ a

        @staticmethod
        @cast_backward
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (a,) = ctx.saved_tensors
            return grad @ a.t() + a.t() @ grad

    return Product


def test_custom_forward_and_backward() -> None:
    forward = torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    product = _function(forward, torch.amp.custom_bwd(device_type="cuda"))
    a = A.cuda().requires_grad_()
    with torch.autocast("cuda"):
        half = a @ a
        result = product.apply(half)
    assert product.seen is torch.float32  # type: ignore[attr-defined]
    result.sum().backward()
    assert a.grad is not None and a.grad.is_cuda


@pytest.mark.filterwarnings("ignore:.*torch.cuda.amp:FutureWarning")
def test_custom_forward_and_backward_under_the_older_names() -> None:
    product = _function(torch.cuda.amp.custom_fwd(cast_inputs=torch.float32), torch.cuda.amp.custom_bwd)
    with torch.autocast("cuda"):
        product.apply((A.cuda() @ A.cuda()).requires_grad_()).sum().backward()
    assert product.seen is torch.float32  # type: ignore[attr-defined]


@pytest.mark.parametrize("by", ["torch.cuda.amp", "torch.amp", "a keyword"])
@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_arguments_are_cast_for_functions_in_c(by: str) -> None:
    """As apex does: what custom kernels get is cast by a private function of torch.amp."""
    with torch.cuda.amp.autocast():
        dtype = torch.get_autocast_gpu_dtype()
        x = torch.ones(2, device="cuda")
        given = {"a": [x, 2], "b": (x.double(), "text", x.cpu()), "c": x.long()}
        if by == "torch.cuda.amp":
            cast = torch.cuda.amp.autocast_mode._cast(given, dtype)
        elif by == "torch.amp":
            cast = torch.amp.autocast_mode._cast(given, "cuda", dtype)
        else:
            cast = torch.amp.autocast_mode._cast(given, device_type="cuda", dtype=dtype)
    assert cast["a"][0].dtype is torch.float16 and cast["a"][1] == 2 and cast["c"].dtype is torch.int64
    double, text, host = cast["b"]
    assert (double.dtype, text, host.dtype) == (torch.float64, "text", torch.float32), "as on CUDA"


def test_checkpoint_keeps_the_autocast_state() -> None:
    seen = []

    def block(x: torch.Tensor) -> torch.Tensor:
        y = x @ x
        seen.append(y.dtype)
        return y @ x

    x = A.cuda().requires_grad_()
    with torch.autocast("cuda"):
        torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False).sum().backward()
    assert seen == [torch.float16, torch.float16]


def test_scalers_outside_torch_find_amp_available() -> None:
    """As in fairscale's sharded scaler, which is `enabled and not` this."""
    from torch.cuda.amp.common import amp_definitely_not_available

    assert amp_definitely_not_available() is False
    assert torch.cuda.amp.amp_definitely_not_available() is False


@pytest.mark.musa
def test_scalers_switch_themselves_off_without_a_device(musa: Interpreter) -> None:
    """As on CUDA. The function of torch_musa's for this finds torch_musa itself, and scaling available."""
    code = """
    import warnings, torch
    from torch.cuda.amp.common import amp_definitely_not_available
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scalers = torch.amp.GradScaler("cuda"), torch.GradScaler(), torch.GradScaler(enabled=False), torch.GradScaler("cpu")
    print(amp_definitely_not_available(), [scaler.is_enabled() for scaler in scalers], [str(w.message) for w in caught])
    """
    warning = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
    expected = f"True [False, False, False, True] {[warning, warning]}\n"
    assert musa.run(textwrap.dedent(code), env={"MUSA_VISIBLE_DEVICES": ""}).stdout == expected
