"""Kernels that SGLang compiles while it runs (`sglang.kernels.jit`) against the same in plain PyTorch: the largest differences."""

import json
import zlib
from collections.abc import Callable

import torch
from sglang.kernels.ops.activation.activation import gelu_tanh_and_mul, silu_and_mul
from sglang.kernels.ops.elementwise.add_constant import add_constant
from sglang.kernels.ops.elementwise.row_sum import row_sum
from sglang.kernels.ops.kvcache.kvcache import store_cache
from sglang.kernels.ops.layernorm.norm import fused_add_rmsnorm, fused_inplace_qknorm, rmsnorm
from sglang.kernels.ops.memory.adler32 import adler32_strided_checksum
from sglang.kernels.ops.moe.moe_align import moe_align_block_size
from sglang.kernels.ops.moe.moe_topk_softmax import topk_softmax
from sglang.kernels.ops.quantization.awq_dequantize import awq_dequantize
from sglang.kernels.ops.quantization.hadamard import hadamard_transform

EPSILON = 1e-6


def normal(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype, device="cuda")


def difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double() - expected.double()).abs().max())


def normalized(x: torch.Tensor) -> torch.Tensor:
    return x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + EPSILON)


def of_rmsnorm() -> float:
    x, weight = normal(4, 1024), normal(1024)
    out = torch.empty_like(x)
    rmsnorm(x, weight, out, EPSILON)
    return difference(out, (normalized(x) * weight.float()).bfloat16())


def of_fused_add_rmsnorm() -> float:
    x, residual, weight = normal(4, 1024), normal(4, 1024), normal(1024)
    total = x + residual
    expected = (normalized(total) * weight.float()).bfloat16()
    fused_add_rmsnorm(x, residual, weight, EPSILON)
    return max(difference(x, expected), difference(residual, total))


def of_qknorm() -> float:
    q, k, q_weight, k_weight = normal(4, 8, 128), normal(4, 2, 128), normal(128), normal(128)
    expected = [(normalized(x) * weight.float()).bfloat16() for x, weight in ((q, q_weight), (k, k_weight))]
    fused_inplace_qknorm(q, k, q_weight, k_weight, EPSILON)
    return max(difference(q, expected[0]), difference(k, expected[1]))


def of_silu_and_mul() -> float:
    x = normal(4, 2048)
    gate, up = x.float().chunk(2, -1)
    return difference(silu_and_mul(x), (torch.nn.functional.silu(gate) * up).bfloat16())


def of_gelu_tanh_and_mul() -> float:
    x = normal(4, 2048)
    gate, up = x.float().chunk(2, -1)
    return difference(gelu_tanh_and_mul(x), (torch.nn.functional.gelu(gate, approximate="tanh") * up).bfloat16())


def of_add_constant() -> float:
    x = torch.arange(100, dtype=torch.int32, device="cuda")
    return difference(add_constant(x, 3), x + 3)


def of_row_sum() -> float:
    x = normal(5, 300, dtype=torch.float32)
    return difference(row_sum(x).flatten(), x.sum(1))


def of_store_cache() -> float:
    k, v, rows = normal(4, 256), normal(4, 256), torch.tensor([3, 7, 1, 9], device="cuda")
    k_cache, v_cache = torch.zeros(2, 16, 256, dtype=torch.bfloat16, device="cuda").unbind()
    store_cache(k, v, k_cache, v_cache, rows)
    return max(difference(k_cache[rows], k), difference(v_cache[rows], v))


def of_topk_softmax() -> float:
    gates = normal(7, 16, dtype=torch.float32)
    weights, experts = torch.empty(7, 2, device="cuda"), torch.empty(7, 2, dtype=torch.int32, device="cuda")
    topk_softmax(weights, experts, gates, True)
    wanted = torch.softmax(gates, -1).topk(2, -1)
    share = wanted.values / wanted.values.sum(-1, keepdim=True)
    return max(difference(weights, share), difference(experts, wanted.indices))


def of_hadamard_transform() -> float:
    matrix = torch.ones(1, 1)
    while len(matrix) < 64:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    x = normal(3, 64, dtype=torch.float32)
    return difference(hadamard_transform(x), x @ matrix.cuda())


def of_awq_dequantize() -> float:
    """Eight numbers of four bits in a word, in AWQ's order; zeros and scales for groups of 64 rows."""
    packed = torch.randint(-(2**31), 2**31, (128, 16), dtype=torch.int32, device="cuda")
    zeros = torch.randint(-(2**31), 2**31, (2, 16), dtype=torch.int32, device="cuda")
    scales = torch.rand(2, 128, device="cuda").half()
    shifts = 4 * torch.tensor([0, 4, 1, 5, 2, 6, 3, 7], device="cuda")

    def unpacked(words: torch.Tensor) -> torch.Tensor:
        return (words[:, :, None] >> shifts & 15).reshape(len(words), -1)

    numbers = unpacked(packed) - unpacked(zeros).repeat_interleave(64, 0)
    return difference(awq_dequantize(packed, scales, zeros), numbers * scales.repeat_interleave(64, 0))


def of_adler32() -> float:
    x = torch.randint(0, 256, (10, 64), dtype=torch.uint8, device="cuda")
    rows = torch.tensor([7, 0, 3], device="cuda")
    found = adler32_strided_checksum([x.data_ptr()], [64], [rows])
    return float(found != zlib.adler32(bytes(x[rows].flatten().tolist())))


def of_moe_align() -> float:
    """Each expert's tokens stand together, in blocks of 16; 0 is the place of what belongs to no expert."""
    block, experts, tokens = 16, 8, torch.randint(0, 8, (6, 2), dtype=torch.int32, device="cuda")
    most = tokens.numel() + (experts + 1) * (block - 1)
    order = torch.full((most,), -1, dtype=torch.int32, device="cuda")
    owners = torch.zeros(most // block + 1, dtype=torch.int32, device="cuda")
    length, sums = (
        torch.zeros(1, dtype=torch.int32, device="cuda"),
        torch.zeros(experts + 2, dtype=torch.int32, device="cuda"),
    )
    moe_align_block_size(tokens, experts + 1, block, order, owners, length, sums, True)
    wrong = 0
    placed = []
    for at in range(int(length) // block):
        own = [each for each in order[at * block : (at + 1) * block].tolist() if each < tokens.numel()]
        wrong += sum(int(tokens.flatten()[each]) != int(owners[at]) for each in own)
        placed += own
    return float(wrong + (sorted(placed) != list(range(tokens.numel()))))


def main() -> None:
    torch.manual_seed(0)
    kernels: list[Callable[[], float]] = [made for name, made in globals().items() if name.startswith("of_")]
    print(json.dumps({kernel.__name__.removeprefix("of_"): kernel() for kernel in kernels}))


if __name__ == "__main__":
    main()
