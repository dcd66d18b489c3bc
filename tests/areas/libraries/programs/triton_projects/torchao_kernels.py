"""torchao's Triton kernels for products of int8 and for blocks in float8."""

import torch
import torchao.kernel.intmm_triton as intmm
from comparing import error, report
from torchao.kernel.blockwise_quantization import (
    blockwise_fp8_gemm,
    fp8_blockwise_act_quant,
    fp8_blockwise_weight_dequant,
    fp8_blockwise_weight_quant,
)
from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm

SIZE, BLOCK = 64, 16


def int8(*shape):
    return torch.randint(-9, 9, shape, dtype=torch.int8)


def product():
    a, b = int8(SIZE, SIZE), int8(SIZE, SIZE)
    out = torch.empty(SIZE, SIZE, device="cuda", dtype=torch.int32)
    return error(intmm.int_matmul_kernel(a.cuda(), b.cuda(), out, intmm.int8_mm_kernel_configs[0]), a.int() @ b.int())


def scaled_product():
    a, b, rows, columns = int8(SIZE, SIZE), int8(SIZE, SIZE), torch.rand(SIZE), torch.rand(SIZE)
    found = scaled_int8_mm(*(each.cuda() for each in (a, b, rows, columns)))
    return error(found, (a.int() @ b.int()) * rows[:, None] * columns)


def blocks(x):
    return x.unflatten(0, (-1, BLOCK)).unflatten(2, (-1, BLOCK))


def weights():
    """A block's scale is its largest number over float8's largest; what comes back is rounded to 3 bits."""
    x = torch.randn(SIZE, SIZE)
    y, scales = fp8_blockwise_weight_quant(x.cuda(), BLOCK)
    expected = blocks(x).abs().amax((1, 3)) / torch.finfo(y.dtype).max
    rounded = (blocks(x) / expected[:, None, :, None]).to(y.dtype).float() * expected[:, None, :, None]
    back = fp8_blockwise_weight_dequant(y, scales, BLOCK)
    return max(error(scales, expected), error(back, rounded.reshape(SIZE, SIZE).to(back.dtype)))


def float8_product():
    a, b = torch.randn(SIZE, SIZE), torch.randn(SIZE, SIZE)
    quantized = fp8_blockwise_act_quant(a.cuda(), BLOCK), fp8_blockwise_weight_quant(b.cuda(), BLOCK)
    found = blockwise_fp8_gemm(*quantized[0], *quantized[1], BLOCK)
    (x, rows), (y, tiles) = ((each.cpu().float() for each in pair) for pair in quantized)
    wide = (x.unflatten(1, (-1, BLOCK)) * rows[..., None]).flatten(1)
    other = (blocks(y) * tiles[:, None, :, None]).reshape(SIZE, SIZE)
    expected = wide @ other.t()
    return error(found, expected) / expected.abs().max().item()


report(
    {
        "int_matmul": product,
        "scaled_int8_mm": scaled_product,
        "fp8_blockwise_weight_quant": weights,
        "blockwise_fp8_gemm": float8_product,
    }
)
