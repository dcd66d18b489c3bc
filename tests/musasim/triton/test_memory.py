"""Addresses that a kernel may not use raise, and the message names the kernel, the program and the argument."""

from __future__ import annotations

import pytest

triton = pytest.importorskip("triton", reason="needs triton")
import torch  # noqa: E402
import triton.language as tl  # noqa: E402

pytestmark = [pytest.mark.musa, pytest.mark.once, pytest.mark.usefixtures("torch_musa")]


@triton.jit
def copy(source, target, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + i, tl.load(source + i, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def follow(addresses, target):
    pointer = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(target + tl.program_id(0), tl.load(pointer))


@triton.jit
def count(target, i):
    tl.atomic_add(target + i, 1)


@triton.jit
def claim(target, n):
    tl.store(target + tl.multiple_of(n, 8), 1.0)


def test_writing_beyond_the_end() -> None:
    x = torch.zeros(1 << 22, device="musa")
    target = torch.zeros(4 << 20, dtype=torch.uint8, device="musa")[: 1 << 20].view(torch.float32)
    torch.musa.synchronize()
    match = (
        r"MUSA error: an illegal memory access was encountered: it writes 4 bytes at 0x\w+, "
        r"\d+ bytes after the \d+ bytes of memory of argument 'target' \(kernel 'copy', program \(64, 0, 0\)\)"
    )
    size = 4 << 20
    with pytest.raises(RuntimeError, match=match):
        copy[(65,)](x, target, 65 * (size // 4 // 64), BLOCK=size // 4 // 64)


def test_a_mask_protects() -> None:
    x, target = torch.ones(100, device="musa"), torch.zeros(100, device="musa")
    copy[(64,)](x, target, 100, BLOCK=128)
    assert target.all()


def test_a_tensor_of_the_host() -> None:
    with pytest.raises(ValueError, match=r"cpu tensor\?.*'source' of kernel 'copy' lies on the host"):
        copy[(1,)](torch.zeros(8), torch.zeros(8, device="musa"), 8, BLOCK=8)


def test_pinned_memory_can_be_read() -> None:
    source, target = torch.ones(8).pin_memory("musa"), torch.zeros(8, device="musa")
    copy[(1,)](source, target, 8, BLOCK=8)
    assert target.all()


def test_addresses_that_a_kernel_reads_from_memory() -> None:
    values = [torch.full((1,), float(i), device="musa") for i in range(3)]
    target = torch.zeros(3, device="musa")
    follow[(3,)](torch.tensor([value.data_ptr() for value in values], device="musa"), target)
    assert target.tolist() == [0, 1, 2]
    on_the_host = torch.zeros(1)
    with pytest.raises(
        RuntimeError, match=r"illegal memory access.*reads 4 bytes.*kernel 'follow', program \(0, 0, 0\)"
    ):
        follow[(1,)](torch.tensor([on_the_host.data_ptr()], device="musa"), target)


def test_memory_of_another_device() -> None:
    there = torch.zeros(1, device="musa:1")
    with pytest.raises(RuntimeError, match="illegal memory access"):
        follow[(1,)](torch.tensor([there.data_ptr()], device="musa"), torch.zeros(1, device="musa"))


def test_a_null_pointer_is_an_address_like_others() -> None:
    with pytest.raises(RuntimeError, match="illegal memory access.*at 0x0"):
        follow[(1,)](torch.zeros(1, dtype=torch.int64, device="musa"), torch.zeros(1, device="musa"))


def test_atomics_are_checked() -> None:
    target = torch.zeros(1, dtype=torch.int32, device="musa")
    count[(5,)](target, 0)
    assert target.item() == 5
    with pytest.raises(RuntimeError, match="it changes 4 bytes"):
        count[(1,)](target, -(1 << 40))


def test_a_wrong_claim_of_alignment() -> None:
    target = torch.zeros(32, device="musa")
    claim[(1,)](target, 24)
    assert target[24] == 1
    with pytest.raises(RuntimeError, match="misaligned address: the kernel says that 12 is a multiple of 8.*'claim'"):
        claim[(1,)](target, 12)


def test_a_kernel_compiled_for_aligned_pointers() -> None:
    source, target = torch.ones(64, device="musa"), torch.zeros(64, device="musa")
    compiled = copy.warmup(source, target, 8, BLOCK=8, grid=(1,))
    with pytest.raises(ValueError, match="'source' of kernel 'copy' is at address.*multiple of 16"):
        compiled[(1, 1, 1)](source[1:], target, 8, 8)
