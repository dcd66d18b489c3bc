"""Warps, atomics and cooperative groups in device code, compared with results computed lane by lane."""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from support.device_code import BY_NVCC, Kernels, compile_kernels

pytestmark = pytest.mark.once

LAUNCH_FAILURE = 719


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_kernels("warps.mu", tmp_path_factory.mktemp("warps"))


@pytest.fixture(scope="module")
def warps(library: Path) -> Kernels:
    return Kernels(library)


def source_lanes(lane: int, argument: int, width: int) -> list[int]:
    """The lane whose value __shfl_sync, _up, _down and _xor return, by PTX's description of shfl."""
    first = lane // width * width
    last = first + width - 1
    up, down, across = lane - argument, lane + argument, lane ^ argument
    return [
        first + argument % width,
        up if up >= first else lane,
        down if down <= last else lane,
        across if across <= last else lane,
    ]


@pytest.mark.parametrize(
    ("entry", "dtype"),
    [("int", torch.int32), ("double", torch.double), ("half", torch.float16), ("bfloat16", torch.int32)],
)
def test_shuffles_honour_masks_and_widths(warps: Kernels, entry: str, dtype: torch.dtype) -> None:
    values = (torch.arange(32) * 1000 + 7).to(dtype)
    for mask in (0xFFFFFFFF, 0x0000FFFF, 0xF0F0F0F3):
        present = [lane for lane in range(32) if mask >> lane & 1]
        for argument, width in ((0, 32), (1, 32), (5, 32), (16, 32), (3, 8), (9, 8), (1, 2), (31, 16), (2, 1)):
            result = torch.zeros(128, dtype=dtype)
            warps.run(f"shuffles_{entry}", values, result, mask, argument, width)
            for row in range(4):
                for lane in present:
                    source = source_lanes(lane, argument, width)[row]
                    expected = values[source] if source in present else 0
                    assert result[row * 32 + lane] == expected, (mask, argument, width, row, lane)


def test_votes_matches_and_reductions(warps: Kernels) -> None:
    generator = random.Random(2)
    for mask in (0xFFFFFFFF, 0x80000001, 0x00FFFF0F):
        for values in (
            [generator.randint(-3, 3) for _ in range(32)],
            [5] * 32,
            [generator.randint(-500, 2000) for _ in range(32)],
        ):
            result = torch.zeros(11 * 32, dtype=torch.int32)
            warps.run("run_votes", torch.tensor(values, dtype=torch.int32), result, mask)
            present = {lane: values[lane] for lane in range(32) if mask >> lane & 1}

            def where(found: dict[int, bool]) -> int:
                return sum(1 << lane for lane, yes in found.items() if yes)

            positive = where({lane: value > 0 for lane, value in present.items()})
            alike = len(set(present.values())) == 1
            unsigned = [value & 0xFFFFFFFF for value in present.values()]
            crossed = 0
            for value in unsigned:
                crossed ^= value
            for lane, value in present.items():
                found = [int(each) & 0xFFFFFFFF for each in result[lane::32]]
                assert found == [
                    positive,
                    any(each > 100 for each in present.values()),
                    all(each < 1000 for each in present.values()),
                    where({other: each == value for other, each in present.items()}),
                    mask | 1 if alike else 0,
                    mask,
                    sum(unsigned) & 0xFFFFFFFF,
                    min(present.values()) & 0xFFFFFFFF,
                    max(unsigned),
                    crossed,
                    positive if value > 0 else 0,
                ]


@pytest.mark.skipif(BY_NVCC, reason="a GPU does not look at masks: lanes that wait for others wait for ever")
@pytest.mark.parametrize(
    ("which", "says"), [(0, "mask"), (1, "__any_sync|__shfl_sync"), (2, "width is not a power of two")]
)
def test_misuse_is_reported(library: Path, which: int, says: str) -> None:
    """This runs in its own process, because the process cannot use the device afterwards."""
    code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).misuse(ctypes.c_long({which})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == str(LAUNCH_FAILURE), done
    assert any(word in done.stderr for word in says.split("|")), done.stderr


class Cells(ctypes.Structure):
    _fields_ = [
        *[
            (name, ctypes.c_int)
            for name in ["i_add", "i_sub", "i_min", "i_max", "i_and", "i_or", "i_xor", "i_cas", "i_lock"]
        ],
        *[(name, ctypes.c_uint) for name in ("u_inc", "u_dec", "u_max")],
        *[(name, ctypes.c_float) for name in ("f_add", "f_exchange")],
        ("h2_add", ctypes.c_uint16 * 2),
        *[(name, ctypes.c_ulonglong) for name in ("l_add", "l_min")],
        ("l_cas", ctypes.c_double),
        ("ll_max", ctypes.c_longlong),
        *[(name, ctypes.c_double) for name in ("d_add", "d_under_lock")],
        *[(name, ctypes.c_uint16) for name in ("h_add", "b_add", "s_cas")],
    ]


def test_atomics_of_every_type(library: Path) -> None:
    blocks, threads = 3, 128
    count = blocks * threads
    code = ctypes.CDLL(str(library))
    assert code.size_of_cells() == ctypes.sizeof(Cells)
    cells = Cells(i_and=-1, l_min=2**63, ll_max=-(2**62))
    assert code.run_atomics(ctypes.byref(cells), ctypes.c_long(blocks), ctypes.c_long(threads)) == 0
    crossed = 0
    for i in range(count):
        crossed ^= i
    dec = 0
    for _ in range(count):
        dec = 99 if dec == 0 or dec > 99 else dec - 1
    total = count * (count - 1) // 2
    found = {name: getattr(cells, name) for name, _ in Cells._fields_}
    assert list(found.pop("h2_add")) == half(count, 2 * count)
    assert found == {
        "i_add": total, "i_sub": -total, "i_min": 1 - count, "i_max": count - 1, "i_and": -(2**31), "i_or": 2**31 - 1,
        "i_xor": crossed, "i_cas": count, "i_lock": 0, "u_inc": count % 100, "u_dec": dec, "u_max": 4294967009,
        "f_add": count / 2, "f_exchange": 7.0, "l_add": count << 40, "l_min": 2**50, "l_cas": 1.5 * count,
        "ll_max": count - 1 - 2**40, "d_add": count / 4, "d_under_lock": count,
        "h_add": half(count / 2)[0], "b_add": bfloat16_after(count, 2.0), "s_cas": count,
    }  # fmt: skip


def half(*values: float) -> list[int]:
    return torch.tensor(values, dtype=torch.float16).view(torch.int16).tolist()


def bfloat16_after(times: int, step: float) -> int:
    """The sum after so many additions. A bfloat16 sum stops growing."""
    value = torch.zeros((), dtype=torch.bfloat16)
    for _ in range(times):
        value = value + step
    return int(value.view(torch.int16))


def test_cooperative_groups(warps: Kernels) -> None:
    generator = random.Random(4)
    n = 80  # the last warp has 16 threads
    values = [generator.randint(0, 50) for _ in range(n)]
    result = torch.full((13 * n,), -1, dtype=torch.int32)
    warps.run("run_groups", torch.tensor(values, dtype=torch.int32), result, n)
    rows = result.view(13, n)
    for i, value in enumerate(values):
        tile = values[i // 8 * 8 : i // 8 * 8 + 8]
        warp = values[i // 32 * 32 : i // 32 * 32 + 32]
        in_tile, in_warp = i % 8, i % 32
        even = [each for each in warp if each % 2 == 0]
        labels = [each % 4 for each in warp]
        found = rows[:, i].tolist()
        assert found[0] == sum(tile)
        assert found[1] == max(warp)
        assert found[2] == tile[in_tile + 3 if in_tile + 3 < 8 else in_tile]
        assert found[3] == (warp[in_warp ^ 5] if (in_warp ^ 5) < len(warp) else 0)
        assert found[4] == sum(1 << k for k, each in enumerate(tile) if each % 3 == 0)
        assert found[5] == in_warp // 8 * 100 + i // 32 * 10 + in_tile
        assert found[6] == sum(tile[: in_tile + 1])
        assert found[7] == sum(warp[:in_warp])
        if value % 2 == 0:
            assert found[8] == len(even) * 100 + sum(each % 2 == 0 for each in warp[:in_warp])
            assert found[9:11] == [even[0], sum(even)]
        distinct = sorted(set(labels), key=labels.index)
        assert found[11] == len(distinct) * 1000 + labels.count(value % 4) * 10 + distinct.index(value % 4)
        assert found[12] == i * 1000 + i % 4 * 10 + 4


def test_the_whole_grid_waits_in_a_cooperative_launch(warps: Kernels) -> None:
    cells = torch.zeros(4 * 33, dtype=torch.int32)
    warps.run("run_grid", cells, 4, 33)
    assert torch.equal(cells, torch.arange(4 * 33, dtype=torch.int32).roll(-33))
