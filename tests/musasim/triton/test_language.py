"""What Triton's interpreter computes wrongly, slowly or not at all when it is left to itself, and kernels have."""

from __future__ import annotations

import math
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="needs triton")
import torch  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.language.extra import libdevice  # noqa: E402
from triton.language.extra.libdevice import tanh  # noqa: E402

pytestmark = [pytest.mark.musa, pytest.mark.once, pytest.mark.usefixtures("torch_musa")]
VERSION = tuple(map(int, triton.__version__.split(".")[:2]))
NARROW = (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)


def on_device(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, device="musa", dtype=dtype)


@triton.jit
def scalars(out, number, flag, BLOCK: tl.constexpr):
    value = number.to(tl.float32)
    if flag:
        value += 1
    tl.store(out + tl.arange(0, BLOCK), tl.full([BLOCK], 0, tl.float32) + value)


def test_a_number_of_a_launch_is_a_number_of_the_device() -> None:
    out = on_device(4)
    scalars[(1,)](out, 0.5, True, BLOCK=4)
    assert out.tolist() == [1.5] * 4


@triton.jit
def loops(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for step in range(tl.cdiv(n, BLOCK)):
        i = step.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(x + i, mask=i < n, other=0.0)
    for step in tl.static_range(3):
        total += step
    for step in tl.range(0, 3, num_stages=2):
        total += step.to(tl.float32)
    count = 0
    while count < 2:
        count += 1
    tl.store(out, tl.sum(total) + count)


def test_counters_of_loops_are_numbers_of_the_device() -> None:
    x, out = torch.randn(100), on_device(1)
    loops[(1,)](x.to("musa"), out, 100, BLOCK=16)
    torch.testing.assert_close(out.cpu()[0], x.sum() + 16 * 6 + 2)


@triton.jit
def arithmetic(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.where(a > b, a * b, a - b))


def test_bfloat16_is_rounded_after_each_operation() -> None:
    x, y = torch.randn(64).bfloat16(), torch.randn(64).bfloat16()
    out = on_device(64, dtype=torch.bfloat16)
    arithmetic[(1,)](x.to("musa"), y.to("musa"), out, BLOCK=64)
    assert torch.equal(out.cpu(), torch.where(x > y, x * y, x - y))


@triton.jit
def convert(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@pytest.mark.parametrize("dtype", NARROW)
def test_conversions_round_to_nearest(dtype: torch.dtype) -> None:
    x = torch.cat([torch.randn(60) * 50, torch.tensor([0.0, -0.0, 1e-7, 1e-3])])
    narrow, back = on_device(64, dtype=dtype), on_device(64)
    convert[(1,)](x.to("musa"), narrow, BLOCK=64)
    convert[(1,)](narrow, back, BLOCK=64)
    assert torch.equal(narrow.cpu().float(), x.to(dtype).float())
    assert torch.equal(back.cpu(), x.to(dtype).float())


def test_conversions_to_float8_saturate() -> None:
    narrow = on_device(4, dtype=torch.float8_e4m3fn)
    convert[(1,)](torch.tensor([1e6, -1e6, math.inf, math.nan], device="musa"), narrow, BLOCK=4)
    assert narrow.cpu().float()[:3].tolist() == [448, -448, 448] and narrow.cpu().float()[3].isnan()


@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(left, right))


@pytest.mark.parametrize("dtype", [*NARROW, torch.float32, torch.int8])
def test_products_of_matrices(dtype: torch.dtype) -> None:
    a, b = (torch.randn(32, 64) * 3).to(dtype), (torch.randn(64, 16) * 3).to(dtype)
    wide = torch.int32 if dtype is torch.int8 else torch.float32
    c = on_device(32, 16, dtype=wide)
    product[(1,)](a.to("musa"), b.to("musa"), c, M=32, N=16, K=64)
    torch.testing.assert_close(c.cpu(), a.to(wide) @ b.to(wide), rtol=1e-5, atol=1e-3)


@triton.jit
def functions(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(out + i, libdevice.erf(value) + tanh(value))
    tl.store(out + BLOCK + i, libdevice.rsqrt(tl.abs(value) + 1) + tl.extra.cuda.libdevice.log1p(tl.abs(value)))


def test_libdevice_by_each_of_its_names() -> None:
    x, out = torch.randn(64), on_device(2, 64)
    functions[(1,)](x.to("musa"), out, BLOCK=64)
    torch.testing.assert_close(out[0].cpu(), x.erf() + x.tanh())
    torch.testing.assert_close(out[1].cpu(), (x.abs() + 1).rsqrt() + x.abs().log1p())


cast, program_id, load = tl.cast, tl.program_id, tl.load


@triton.jit
def by_other_names(x, out, BLOCK: tl.constexpr):
    i = program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, cast(load(x + i), tl.float32))


def test_builtins_of_the_language_by_a_programs_own_names() -> None:
    x, out = torch.randn(8).half(), on_device(8)
    by_other_names[(2,)](x.to("musa"), out, BLOCK=4)
    assert torch.equal(out.cpu(), x.float())


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def affine(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scans(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    _, states = tl.associative_scan((a, b), 0, affine)
    tl.store(out + i, states)
    tl.store(out + BLOCK + i, tl.cumsum(a, 0))
    tl.store(out + 2 * BLOCK + i, tl.associative_scan(a, 0, times, reverse=True))
    tl.store(out + 3 * BLOCK, tl.reduce(a, 0, times))


def test_scans_and_reductions_with_a_function_of_the_kernel() -> None:
    x, y, out = torch.rand(32) + 0.5, torch.randn(32), on_device(4, 32)
    scans[(1,)](x.to("musa"), y.to("musa"), out, BLOCK=32)
    state, states = torch.zeros(()), []
    for a, b in zip(x, y):
        state = state * a + b
        states.append(state)
    found = out.cpu()
    torch.testing.assert_close(found[0], torch.stack(states))
    torch.testing.assert_close(found[1], x.cumsum(0))
    torch.testing.assert_close(found[2], x.flip(0).cumprod(0).flip(0))
    torch.testing.assert_close(found[3, 0], x.prod())


@triton.jit
def reductions(x, values, indices, BLOCK: tl.constexpr, N: tl.constexpr):
    block = tl.load(x + tl.arange(0, BLOCK)[:, None] * N + tl.arange(0, N)[None, :])
    i = tl.arange(0, BLOCK)
    tl.store(values + i, tl.max(block, 1))
    tl.store(indices + i, tl.argmin(block, 1))
    tl.store(values + BLOCK + tl.arange(0, N), tl.sort(tl.sum(block, 0)))


def test_the_reductions_that_triton_has() -> None:
    x, values, indices = torch.randn(8, 16), on_device(24), on_device(8, dtype=torch.int32)
    reductions[(1,)](x.to("musa"), values, indices, BLOCK=8, N=16)
    torch.testing.assert_close(values[:8].cpu(), x.amax(1))
    torch.testing.assert_close(values[8:].cpu(), x.sum(0).sort().values)
    assert indices.tolist() == x.argmin(1).tolist()


@triton.jit
def exchange(x, place, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.atomic_xchg(place + i, tl.load(x + i), mask=i < 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32], ids=str)
def test_an_exchange(dtype: torch.dtype) -> None:
    x, place = torch.tensor([1, -2, 3, 4], dtype=dtype, device="musa"), torch.full((4,), 7, dtype=dtype, device="musa")
    out = torch.zeros(4, dtype=dtype, device="musa")
    exchange[(1,)](x, place, out)
    assert place.tolist() == [1, -2, 3, 7] and out[:3].tolist() == [7, 7, 7]


@triton.jit
def atomics(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(out + i % 2, tl.load(x + i))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_atomics_on_one_address(dtype: torch.dtype) -> None:
    if dtype is torch.bfloat16 and VERSION < (3, 4):
        pytest.skip("up to 3.3 Triton refuses atomics of bfloat16 itself")
    out = on_device(2, dtype=dtype)
    atomics[(3,)](torch.ones(16, device="musa", dtype=dtype), out, BLOCK=16)
    assert out.tolist() == [24, 24]


@triton.jit
def described(x, out, rows, columns, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    target.store([0, BLOCK], source.load([0, BLOCK]) + 1)


@triton.jit
def described_by_the_host(source, target):
    target.store([0, 0], source.load([0, 0]) * 3)


@pytest.mark.skipif(VERSION < (3, 4), reason="tensor descriptors came with Triton 3.4")
def test_tensor_descriptors() -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, out = torch.randn(16, 32), on_device(16, 32)
    described[(1,)](x.to("musa"), out, 16, 32, BLOCK=16)
    torch.testing.assert_close(out[:, 16:].cpu(), x[:, 16:] + 1)
    whole = [TensorDescriptor.from_tensor(tensor, [16, 32]) for tensor in (x.to("musa"), out)]
    described_by_the_host[(1,)](*whole)
    torch.testing.assert_close(out.cpu(), x * 3)


@triton.jit
def by_block_pointer(x, out, rows, columns, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    target = tl.make_block_ptr(out, (rows, columns), (columns, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    for _ in range(tl.cdiv(columns, BLOCK)):
        tl.store(target, tl.load(source, boundary_check=(0, 1), padding_option="zero") * 2, boundary_check=(0, 1))
        source = tl.advance(source, (0, BLOCK))
        target = tl.advance(target, (0, BLOCK))


@pytest.mark.skipif(VERSION >= (3, 9), reason="block pointers left with Triton 3.9")
@pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
def test_block_pointers() -> None:
    x, out = torch.randn(10, 50), on_device(10, 50)
    by_block_pointer[(1,)](x.to("musa"), out, 10, 50, BLOCK=16)
    torch.testing.assert_close(out.cpu(), x * 2)


@triton.jit
def assembly(out):
    value = tl.inline_asm_elementwise("mov.u32 $0, 1;", "=r", [], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out, value)


def test_assembly_of_another_gpu_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"kernel 'assembly' contains inline assembly.*mov\.u32 \$0, 1;"):
        assembly[(1,)](on_device(1, dtype=torch.int32))


@triton.jit
def asserting(out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 4, "BLOCK is 4")
    tl.device_assert(n < 3, "n is too large")
    tl.device_print("n is", n)
    tl.store(out + tl.arange(0, BLOCK), n)


def test_assertions(capsys: pytest.CaptureFixture[str]) -> None:
    out = on_device(4, dtype=torch.int32)
    asserting[(1,)](out, 5, BLOCK=4)  # as on a device: it counts where a kernel is compiled for debugging
    assert out.tolist() == [5] * 4 and "n is: [5]" in " ".join(capsys.readouterr().out.split())
    match = r"device-side assert triggered: n is too large \(kernel 'asserting', program \(0, 0, 0\)\)"
    with pytest.raises(RuntimeError, match=match):
        asserting[(1,)](out, 5, BLOCK=4, debug=True)
    with pytest.raises(triton.CompilationError, match="BLOCK is 4"):
        asserting[(1,)](out, 5, BLOCK=8)


@triton.jit
def arguments(out, absent, pair, combine: tl.constexpr, DTYPE: tl.constexpr):
    if absent is None:
        tl.store(out, combine(tl.load(pair[0]), pair[1]).to(DTYPE))


def test_arguments_of_every_kind() -> None:
    out, two = on_device(1), torch.full((1,), 2.0, device="musa")
    arguments[(1,)](out, None, (two, 3.0), times, tl.float32)
    assert out.item() == 6


@pytest.mark.skipif(VERSION < (3, 4), reason="up to 3.3 Triton itself sees no functions of an enclosing function")
def test_variables_of_an_enclosing_function() -> None:
    out = on_device(1, dtype=torch.int32)
    enclosing()[(1,)](out)
    assert out.item() == 12


def enclosing() -> Any:
    factor: tl.constexpr = tl.constexpr(4)

    @triton.jit
    def helper(x):
        return x * factor

    @triton.jit
    def kernel(out):
        tl.store(out, helper(2) + factor)

    return kernel


@triton.jit
def template(out):
    tl.store(out, THE_VALUE)  # noqa: F821 (programs replace such names in the source)


@pytest.mark.skipif(VERSION < (3, 4), reason="up to 3.3 a program sets another attribute")
def test_a_source_that_the_program_has_changed() -> None:
    for value in ("7.0", "8.0"):
        kernel = triton.JITFunction(template.fn)
        kernel._unsafe_update_src(kernel.src.replace("THE_VALUE", value))
        out = on_device(1)
        kernel[(1,)](out)
        assert out.item() == float(value)


@triton.jit
def rounded(x):
    return tl.floor(x + 0.5)


@triton.jit
def by_helper(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, rounded(tl.load(x + i)))


def test_a_launch_leaves_the_language_and_the_program_as_they_were() -> None:
    language = {name: dict(vars(owner)) for name, owner in {"tl": tl, "core": tl.core, "tensor": tl.tensor}.items()}
    ours = set(globals())
    by_helper[(1,)](torch.rand(4, device="musa"), on_device(4), BLOCK=4)
    assert {
        name: dict(vars(owner)) for name, owner in (("tl", tl), ("core", tl.core), ("tensor", tl.tensor))
    } == language
    assert set(globals()) == ours
    with pytest.raises(RuntimeError, match="outside of the scope of a kernel"):
        rounded(1.0)


@triton.jit
def take_some(rows, weight, out, limit, BLOCK: tl.constexpr):
    row = tl.load(rows + tl.program_id(0)).to(tl.int64)
    valid = (row >= 0) & (row < limit)
    columns = tl.arange(0, BLOCK)
    numbers = tl.load(weight + row * BLOCK + columns, mask=(columns < BLOCK) & valid, other=-1.0)
    tl.store(out + tl.program_id(0) * BLOCK + columns, numbers)


def test_a_condition_on_one_number_masks_a_block() -> None:
    weight, out = torch.rand(4, 8, device="musa"), torch.zeros(2, 8, device="musa")
    take_some[(2,)](torch.tensor([3, 5], device="musa"), weight, out, 4, BLOCK=8)
    torch.testing.assert_close(out[0], weight[3])
    assert out[1].tolist() == [-1.0] * 8


@triton.jit
def store_under_a_mask_that_is_always_true(x, BLOCK: tl.constexpr):
    mask = tl.full([BLOCK], True, tl.int1)
    tl.store(x + tl.arange(0, BLOCK), 1.0, mask=mask)
    tl.store(x + tl.arange(0, BLOCK), 2.0, mask=~mask)


def test_a_block_of_true() -> None:
    x = torch.zeros(8, device="musa")
    store_under_a_mask_that_is_always_true[(1,)](x, BLOCK=8)
    assert x.tolist() == [1.0] * 8
