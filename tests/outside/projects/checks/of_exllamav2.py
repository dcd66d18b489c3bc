"""exllamav2's kernels: weights of 2 to 8 bits are packed, unpacked and multiplied; norms, rotations, caches and others."""

from __future__ import annotations

import exllamav2_ext as ext
import torch

from report import Report

report = Report()
torch.manual_seed(0)
NONE = torch.empty((1, 1), device="meta")
ROWS, COLUMNS, GROUP = 256, 128, 32


def packed(bits: list[int]) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Random weights in the layout of EXL2, a group of rows for each number of `bits`, and what they stand for."""
    scale, largest = torch.randint(1, 17, (len(bits), COLUMNS)), torch.rand(len(bits)).half() / 256
    groups, words, rows = [], [], []
    for at, each in enumerate(bits):
        weight = torch.randint(0, 2**each, (GROUP, COLUMNS))
        word = torch.zeros(GROUP * each // 32, COLUMNS, dtype=torch.int32, device="cuda")
        ext.pack_columns(weight.short().cuda(), word, each)
        groups += [each, sum(map(len, words))]
        words.append(word)
        factor = (scale[at] ** 2).half() * largest[at]
        rows.append((weight - 2 ** (each - 1)).double() * factor.double())
    scales = torch.zeros(len(bits), COLUMNS // 8, dtype=torch.int32, device="cuda")
    ext.pack_rows_4(scale.short().cuda(), scales)
    order = torch.randperm(ROWS)
    every = torch.tensor(groups, dtype=torch.short)
    weights = {
        "weight": torch.cat(words),
        "order": order.argsort().short().cuda(),
        "inverse": order.short().cuda(),
        "scale": scales,
        "largest": largest.cuda(),
        "groups": every.cuda(),
        "map": ext.make_group_map(every, sum(map(len, words))).cuda(),
    }
    return weights, torch.cat(rows)[order]


def exl2(bits: list[int]) -> None:
    mine, wanted = packed(bits)
    temporary = torch.empty(ROWS * COLUMNS, dtype=torch.half, device="cuda")
    names = ("weight", "order", "inverse", "scale", "largest", "groups", "map")
    matrix = ext.make_q_matrix(*(mine[name] for name in names), NONE, NONE, NONE, NONE, temporary, 0)
    multiplied(f"EXL2, bits {sorted(set(bits))}", matrix, wanted)


def gptq(ordered: bool) -> None:
    weight, zero = torch.randint(0, 16, (ROWS, COLUMNS)), torch.randint(0, 15, (ROWS // GROUP, COLUMNS))
    scale = (torch.rand(ROWS // GROUP, COLUMNS) / 16).half()
    group = torch.arange(ROWS) // GROUP
    group = group[torch.randperm(ROWS)] if ordered else group
    wanted = (weight - zero[group] - 1).double() * scale[group].double()
    shifts = 4 * torch.arange(8)
    words = (weight.reshape(-1, 8, COLUMNS) << shifts[:, None]).sum(1).to(torch.int32).cuda()
    zeros = (zero.reshape(len(zero), -1, 8) << shifts).sum(2).to(torch.int32).cuda()
    temporary = torch.empty(ROWS * COLUMNS, dtype=torch.half, device="cuda")
    orders = [torch.empty(ROWS, dtype=torch.short, device="cuda") for _ in range(2)] if ordered else [NONE, NONE]
    index = group.int() if ordered else NONE
    scales = scale.cuda()  # the matrix keeps addresses
    matrix = ext.make_q_matrix(words, *orders, *[NONE] * 4, zeros, scales, index, NONE, temporary, 0)
    multiplied(f"GPTQ{', ordered' if ordered else ''}", matrix, wanted)


def multiplied(name: str, matrix: int, wanted: torch.Tensor) -> None:
    found = torch.empty(ROWS, COLUMNS, dtype=torch.half, device="cuda")
    ext.reconstruct(matrix, found)
    report.agree(f"{name}, unpacked", found, wanted, rtol=2e-3)
    for count in (1, 3, 7, 64):
        for by_kernel in (True, False):
            x = torch.randn(count, ROWS).half()
            found = torch.empty(count, COLUMNS, dtype=torch.half, device="cuda")
            ext.gemm_half_q_half(x.cuda(), matrix, found, by_kernel)
            # Sums of halves are as exact as their terms are large.
            size = x.double().abs() @ wanted.abs()
            exact = x.double() @ wanted / size
            report.agree(f"{name}, {count} rows, {by_kernel}", found.cpu() / size, exact, rtol=0, atol=2e-3)
    ext.free_q_matrix(matrix)


def norms() -> None:
    x, weight, bias = torch.randn(5, 256).half(), torch.rand(256).half(), torch.randn(256).half()
    found = torch.empty_like(x, device="cuda")
    ext.rms_norm(x.cuda(), weight.cuda(), found, 1e-6)
    exact = x.double()
    root = exact / (exact.square().mean(1, keepdim=True) + 1e-6).sqrt() * weight
    report.agree("rms_norm", found, root, rtol=5e-3, atol=1e-3)
    ext.layer_norm(x.cuda(), weight.cuda(), bias.cuda(), found, 1e-5)
    wanted = torch.nn.functional.layer_norm(exact, (256,), weight.double(), bias.double(), 1e-5)
    report.agree("layer_norm", found, wanted, rtol=5e-3, atol=5e-3)
    heads, weight, bias = torch.randn(3, 4, 64).half(), torch.rand(4, 64).half(), torch.randn(4, 64).half()
    found = torch.empty_like(heads, device="cuda")
    ext.head_norm(heads.cuda(), weight.cuda(), bias.cuda(), found, 1e-5, False)
    exact = torch.nn.functional.layer_norm(heads.double(), (64,), None, None, 1e-5)
    report.agree("head_norm", found, exact * weight + bias, rtol=5e-3, atol=5e-3)


def rotations() -> None:
    positions = torch.outer(torch.arange(32.0), 100.0 ** -(torch.arange(32) / 32))
    for is_neox in (True, False):
        x = torch.randn(2, 5, 3, 64).half()
        angles = torch.cat([positions, positions], 1) if is_neox else positions.repeat_interleave(2, 1)
        mine = x.cuda()
        ext.rope_(mine, angles.sin().half().cuda(), angles.cos().half().cuda(), 4, 3, 64, NONE, is_neox)
        part = angles[4:9, None].double()
        a, b = x.double().chunk(2, -1) if is_neox else (x.double()[..., ::2], x.double()[..., 1::2])
        turned = torch.cat([-b, a], -1) if is_neox else torch.stack([-b, a], -1).flatten(-2)
        report.agree(f"rope_, neox {is_neox}", mine, x * part.cos() + turned * part.sin(), rtol=5e-3, atol=5e-3)


def caches() -> None:
    x = torch.randn(2, 8, 2, 64).half()
    small = torch.empty(x.shape, dtype=torch.uint8, device="cuda")
    back = torch.empty_like(x, device="cuda")
    ext.fp16_to_fp8(x.cuda(), small, 2, 0, 8)
    ext.fp8_to_fp16(small, back, 2, 0, 8)
    # The upper byte of a half: two bits of the mantissa are kept.
    report.agree("fp16_to_fp8 and back", back, x, rtol=0.26, atol=1e-6)
    bits = x.view(torch.int16).bitwise_right_shift(8).bitwise_and(255)
    report.agree("fp16_to_fp8", small, bits, rtol=0, atol=1)


def others() -> None:
    x = torch.randn(33, 64)
    for dtype in (torch.float32, torch.float16):
        mine = (x * 30).to(dtype).cuda()
        wanted = 20 * torch.tanh((x * 30).to(dtype).double() / 20)
        ext.softcap_(mine, 20.0)
        report.agree(f"softcap_, {dtype}", mine, wanted, rtol=5e-3, atol=1e-3)
    scale = torch.rand(64) / 4 + 0.1
    found, words = torch.empty_like(x, device="cuda"), torch.empty(33, 64, dtype=torch.short, device="cuda")
    ext.quantize(x.cuda(), found, scale.cuda(), words, 8.0, 15.0)
    wanted = (torch.round(x / scale) + 8).clamp(0, 15)
    report.agree("quantize, words", words, wanted, rtol=0, atol=0)
    report.agree("quantize", found, (wanted - 8) * scale, rtol=2e-3)
    a, b = torch.randn(17, 64).half(), torch.randn(64, 96).half()
    for by_library in (True, False):
        out = torch.zeros(17, 96, dtype=torch.half, device="cuda")
        ext.gemm_half_half_half(a.cuda(), b.cuda(), out, 1.0, 0.0, by_library)
        report.agree(f"gemm_half_half_half, {by_library}", out, a.double() @ b.double(), rtol=1e-2, atol=2e-2)


for each in (2, 3, 4, 5, 6, 8):
    exl2([each] * (ROWS // GROUP))
exl2([8, 6, 6, 4, 4, 3, 3, 2])
gptq(False)
gptq(True)
norms()
rotations()
caches()
others()
report.end()
