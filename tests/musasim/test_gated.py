"""The gated activations of the vendor's torch, against a plain reference."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_musa  # noqa: F401

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
functional: Any = torch.nn.functional
vendors: Any = torch


def reference(input: torch.Tensor) -> torch.Tensor:
    gate, value = input.float().chunk(2, dim=-1)
    return (functional.silu(gate) * value).to(input.dtype)


@pytest.mark.parametrize("shape", [(1, 0, 12), (16, 32), (4, 8, 64)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_swish_glu_and_its_gradient(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    plain = torch.randn(shape, dtype=dtype, requires_grad=True)
    given = plain.detach().to("musa").requires_grad_()
    module: Any = torch.nn.modules.activation.SwishGLU()  # type: ignore[attr-defined]
    assert isinstance(module, torch.nn.SwishGLU)  # type: ignore[attr-defined]
    made, expected = module(given), reference(plain)
    assert made.device.type == "musa" and made.dtype == dtype
    torch.testing.assert_close(made.cpu(), expected)
    weights = torch.randn_like(expected)
    made.backward(weights.to("musa"))
    expected.backward(weights)
    assert given.grad is not None and plain.grad is not None
    torch.testing.assert_close(given.grad.cpu(), plain.grad, atol=2e-2, rtol=2e-2)


def test_gated_silu_takes_what_the_vendors_takes() -> None:
    given = torch.randn(3, 8)
    torch.testing.assert_close(vendors.gated_silu(given.to("musa")).cpu(), reference(given))
    for wrong in (given.to("musa", torch.bfloat16), given[0].to("musa"), given.to("musa").t()):
        with pytest.raises(RuntimeError, match=r"(?i)gated silu"):
            vendors.gated_silu(wrong)


def test_swish_glu_is_compiled_as_one_operator() -> None:
    given = torch.randn(4, 8, device="musa")
    compiled = torch.compile(functional.swish_glu, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(given), functional.swish_glu(given))
