"""What holds before a program has set anything: CUDA programs expect these values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from torch_battery.check import Tolerance, expect
from torch_battery.compare import same
from torch_battery.table import Program

GROUP = "defaults"


def _has(what: str, read: Callable[[], Any], expected: Any) -> None:
    actual = read()
    expect(actual == expected, f"{what} is {actual!r}; it has to be {expected!r}")


def _row(subject: str, what: str, read: Callable[[], Any], expected: Any) -> Program:
    return Program(subject, partial(_has, what, read, expected), "quick")


def _products_are_precise() -> float:
    """TF32 has 10 bits, float32 has 23: a product of these matrices is wrong in the fourth digit with TF32."""
    a = torch.full((64, 64), 1 + 2.0**-12)
    return same((a.cuda() @ a.cuda()).cpu(), a.double() @ a.double(), _PRODUCT, "a product of float32 matrices")


def _sums_are_wide() -> float:
    """Products of float16 are summed in float32: 4096 ones and a small number more."""
    a, b = torch.ones(1, 4097, dtype=torch.float16), torch.ones(4097, 1, dtype=torch.float16)
    return same((a.cuda() @ b.cuda()).cpu(), torch.tensor([[4096.0]]), Tolerance(1e-3, 0), "a sum of 4097 products")


def _denormals_are_kept() -> None:
    small = torch.tensor([1e-40], device="cuda") * 1.0
    expect(small.item() != 0, "1e-40 * 1.0 is 0: small float32 numbers are lost")


def _new_tensors() -> None:
    x = torch.zeros(2, device="cuda")
    expect(x.dtype == torch.float32, f"a new tensor has the type {x.dtype}")
    expect(x.device.index == torch.cuda.current_device(), f"a new tensor is on {x.device}")
    expect(x.is_contiguous() and not x.requires_grad, "a new tensor is not contiguous, or requires gradients")
    text = str(torch.arange(2, device="cuda").dtype)
    expect(text == "torch.int64", f"arange gives {text}")


_PRODUCT = Tolerance(1e-5, 1e-5)
TABLE = [
    _row("dtype", "torch.get_default_dtype()", torch.get_default_dtype, torch.float32),
    _row("allow_tf32", "torch.backends.cuda.matmul.allow_tf32", lambda: torch.backends.cuda.matmul.allow_tf32, False),
    _row(
        "matmul_precision",
        "torch.get_float32_matmul_precision()",
        torch.get_float32_matmul_precision,
        "highest",
    ),
    _row("cudnn_enabled", "torch.backends.cudnn.enabled", lambda: torch.backends.cudnn.enabled, True),
    _row("cudnn_benchmark", "torch.backends.cudnn.benchmark", lambda: torch.backends.cudnn.benchmark, False),
    _row(
        "deterministic",
        "torch.are_deterministic_algorithms_enabled()",
        torch.are_deterministic_algorithms_enabled,
        False,
    ),
    _row("autocast_off", 'torch.is_autocast_enabled("cuda")', lambda: torch.is_autocast_enabled("cuda"), False),
    _row(
        "autocast_dtype",
        'torch.get_autocast_dtype("cuda")',
        lambda: torch.get_autocast_dtype("cuda"),
        torch.float16,
    ),
    _row("current_device", "torch.cuda.current_device()", torch.cuda.current_device, 0),
    _row(
        "default_stream",
        "torch.cuda.current_stream() == torch.cuda.default_stream()",
        lambda: torch.cuda.current_stream() == torch.cuda.default_stream(),
        True,
    ),
    _row("flash_sdp", "torch.backends.cuda.flash_sdp_enabled()", torch.backends.cuda.flash_sdp_enabled, True),
    Program("new_tensors", _new_tensors, "quick"),
    Program("products_are_precise", _products_are_precise, "quick", _PRODUCT),
    Program("sums_are_wide", _sums_are_wide, "standard", Tolerance(1e-3, 0)),
    Program("denormals", _denormals_are_kept, "standard"),
]
