"""Attention: scaled_dot_product_attention and the choice of its backend, flex_attention, multi-head attention."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from support.interpreter import Interpreter

BACKENDS = [backend for name, backend in SDPBackend.__members__.items() if name != "ERROR"]


def inputs(dtype: torch.dtype = torch.float32, *shape: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape or (2, 4, 8, 16), generator=generator).to(dtype) for _ in range(3)]


def on_cuda(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.cuda() for tensor in tensors]


def close(result: torch.Tensor, wanted: torch.Tensor) -> None:
    """Equal up to what a few roundings of their type make; the CPU has fused kernels where the device may have none."""
    assert result.is_cuda and result.dtype is wanted.dtype
    tolerance = 4 * torch.finfo(wanted.dtype).eps
    torch.testing.assert_close(result.cpu(), wanted, atol=max(tolerance, 1e-5), rtol=max(tolerance, 1e-5))


# --- scaled_dot_product_attention -----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("causal", [False, True])
def test_sdpa_kernel(backend: SDPBackend, causal: bool) -> None:
    given = inputs()
    with sdpa_kernel(backend):
        result = F.scaled_dot_product_attention(*on_cuda(given), is_causal=causal)
    close(result, F.scaled_dot_product_attention(*given, is_causal=causal))


def test_sdpa_kernel_with_a_list() -> None:
    given = inputs()
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        close(F.scaled_dot_product_attention(*on_cuda(given)), F.scaled_dot_product_attention(*given))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(8, 16), (3, 8, 16), (2, 4, 8, 16), (1, 1, 1, 8)])
def test_shapes_and_dtypes(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    given = inputs(dtype, *shape)
    close(F.scaled_dot_product_attention(*on_cuda(given)), F.scaled_dot_product_attention(*given))


def test_mask_scale_and_groups() -> None:
    q, k, v = inputs()
    mask = torch.rand(8, 8) > 0.3
    mask.fill_diagonal_(True)
    for attn_mask in (mask, mask.float()):
        wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, scale=0.5)
        close(F.scaled_dot_product_attention(*on_cuda([q, k, v]), attn_mask=attn_mask.cuda(), scale=0.5), wanted)
    grouped = [q, k[:, :2], v[:, :2]]
    wanted = F.scaled_dot_product_attention(*grouped, enable_gqa=True)
    close(F.scaled_dot_product_attention(*on_cuda(grouped), enable_gqa=True), wanted)


def test_backward() -> None:
    given = [tensor.requires_grad_() for tensor in inputs()]
    there = [tensor.detach().cuda().requires_grad_() for tensor in given]
    for tensors in (given, there):
        F.scaled_dot_product_attention(*tensors, is_causal=True).square().sum().backward()
    for here, other in zip(given, there, strict=True):
        assert here.grad is not None and other.grad is not None
        close(other.grad, here.grad)


def test_autocast() -> None:
    with torch.autocast("cuda", torch.bfloat16):
        assert F.scaled_dot_product_attention(*on_cuda(inputs())).dtype is torch.bfloat16


def test_dropout_follows_the_seed() -> None:
    given = on_cuda(inputs())
    results = []
    for seed in (1, 1, 2):
        torch.cuda.manual_seed(seed)
        results.append(F.scaled_dot_product_attention(*given, dropout_p=0.5))
    assert results[0].equal(results[1]) and not results[0].equal(results[2])


def test_devices_may_not_be_mixed() -> None:
    q, k, v = inputs()
    with pytest.raises(RuntimeError, match="device"):
        F.scaled_dot_product_attention(q.cuda(), k, v)


def test_causal_bias() -> None:
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    q, k, v = inputs()
    for make in (causal_lower_right, causal_upper_left):
        wanted = F.scaled_dot_product_attention(q[:, :, :4], k, v, attn_mask=make(4, 8))
        close(F.scaled_dot_product_attention(*on_cuda([q[:, :, :4], k, v]), attn_mask=make(4, 8)), wanted)


# --- flex_attention and varlen ----------------------------------------------------------------------------------------


def causal(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q >= kv


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
def test_flex_attention() -> None:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    given = inputs()
    wanted = F.scaled_dot_product_attention(*given, is_causal=True)
    # The device that a CUDA program leaves out is cuda.
    for where in ({}, {"device": "cuda"}, {"device": torch.device("cuda", 0)}):
        mask = create_block_mask(causal, None, None, 8, 8, **where)
        assert mask.kv_num_blocks.is_cuda
        close(flex_attention(*on_cuda(given), block_mask=mask), wanted)
    doubled = flex_attention(*on_cuda(given), score_mod=lambda score, b, h, q, kv: score * 2)
    close(doubled, F.scaled_dot_product_attention(*given, scale=0.5))


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
def test_flex_attention_backward() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    given = [tensor.cuda().requires_grad_() for tensor in inputs()]
    flex_attention(*given).sum().backward()
    assert all(tensor.grad is not None and tensor.grad.is_cuda for tensor in given)


def test_flex_attention_still_refuses_other_devices() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    with pytest.raises((ValueError, NotImplementedError), match="FlexAttention"):
        flex_attention(*(tensor.to("meta").requires_grad_() for tensor in inputs()))


def test_block_masks_move() -> None:
    from torch.nn.attention.flex_attention import create_block_mask, create_mask

    mask = create_block_mask(causal, None, None, 8, 8, device="cpu").to("cuda:1")
    assert mask.kv_num_blocks.device == torch.device("cuda:1")
    assert create_mask(causal, None, None, 4, 4, device="cuda").sum() == 10


def test_varlen_is_the_attention_of_each_sequence() -> None:
    varlen = pytest.importorskip("torch.nn.attention.varlen", reason="this torch has no torch.nn.attention.varlen")
    given = inputs(torch.float16, 8, 4, 16)
    lengths = torch.tensor([0, 3, 8], device="cuda", dtype=torch.int32)
    result = varlen.varlen_attn(*on_cuda(given), lengths, lengths, 5, 5)
    for rows in (slice(0, 3), slice(3, 8)):
        parts = (each[rows].transpose(0, 1) for each in given)
        close(result[rows], F.scaled_dot_product_attention(*parts).transpose(0, 1))


# --- multi-head attention ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_multihead_attention(training: bool, grad: bool, weights: bool) -> None:
    """Evaluation without gradients takes the fast path."""
    layer = nn.MultiheadAttention(16, 4, batch_first=True).train(training)
    x = inputs(torch.float32, 2, 5, 16)[0]
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.set_grad_enabled(grad):
        wanted, wanted_weights = layer(x, x, x, key_padding_mask=padding, need_weights=weights)
        layer.cuda()
        there = x.cuda()
        result, got_weights = layer(there, there, there, key_padding_mask=padding.cuda(), need_weights=weights)
    torch.testing.assert_close(result.cpu(), wanted, atol=1e-5, rtol=1e-5)
    assert (got_weights is None) == (wanted_weights is None)
    if weights:
        torch.testing.assert_close(got_weights.cpu(), wanted_weights, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("grad", [False, True])
def test_transformer_encoder(grad: bool) -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = inputs(torch.float32, 2, 5, 16)[0]
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    with torch.set_grad_enabled(grad):
        wanted = encoder(x, mask=mask, is_causal=True)
        result = encoder.cuda()(x.cuda(), mask=mask.cuda(), is_causal=True)
    torch.testing.assert_close(result.cpu(), wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mask_check", [True, False])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested")
def test_transformer_encoder_with_padding(mask_check: bool) -> None:
    """torch packs the sequences into a nested tensor; torch_musa 2.7.1 has no kernel of a layer for it. Padding becomes zero."""
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, mask_check=mask_check).eval()
    x = inputs(torch.float32, 2, 5, 16)[0]
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad():
        wanted = encoder(x, src_key_padding_mask=padding)
        result = encoder.cuda()(x.cuda(), src_key_padding_mask=padding.cuda())
    assert result.device == torch.device("cuda:0") and result.shape == wanted.shape
    torch.testing.assert_close(result.cpu(), wanted, atol=1e-5, rtol=1e-5)
    assert not result[1, 3:].any()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested")
def test_a_layer_takes_nested_tensors() -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
    rows = [torch.randn(length, 16) for length in (2, 5)]
    with torch.no_grad():
        wanted = [layer(row[None])[0] for row in rows]
        result = layer.cuda()(torch.nested.nested_tensor(rows, device="cuda"))
        assert result.is_nested and result.device == torch.device("cuda:0")
        for row, expected in zip(result.unbind(), wanted):
            torch.testing.assert_close(row.cpu(), expected, atol=1e-5, rtol=1e-5)
        parameters = [16, 4, *([layer.norm1.weight] * 4), False, False, 1e-5, *([layer.norm1.weight] * 8)]
        with pytest.raises(RuntimeError, match="mask is not supported"):
            torch._transformer_encoder_layer_fwd(result, *parameters, torch.ones(2, 5).cuda(), 1)


@pytest.mark.full
@pytest.mark.parametrize("mask_check", [True, False])
def test_padding_where_the_backend_has_no_nested_tensors(musa: Interpreter, mask_check: bool) -> None:
    """Padded places are computed."""
    code = f"""
    from torchada.hooks import activation
    begin = activation._begin
    def _begin(backend):
        import torch
        has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
        torch._C._dispatch_has_kernel_for_dispatch_key = lambda name, key: "padded" not in name and has_kernel(name, key)
        begin(backend)
    activation._begin = _begin
    import torch
    from torch import nn
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, mask_check={mask_check}).eval()
    x, padding = torch.randn(2, 5, 16), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad():
        wanted = encoder(x, src_key_padding_mask=padding)
        result = encoder.cuda()(x.cuda(), src_key_padding_mask=padding.cuda())
    torch.testing.assert_close(result.cpu()[~padding], wanted[~padding], atol=1e-5, rtol=1e-5)
    print(bool(result[1, 3:].any()))
    """
    assert musa.run(code, env={"PYTHONWARNINGS": "ignore"}).stdout == "True\n"
