"""Plain references for programs of Rodinia that have no other version: `python references.py linear_system 16`."""

from __future__ import annotations

import math
import sys
from pathlib import Path


def linear_system(size: str) -> None:
    """The solution of the system that gaussian makes, with a symmetric Toeplitz matrix and ones on the right-hand side."""
    import numpy

    row = numpy.array([10 * math.exp(-0.01 * i) for i in range(int(size))])
    matrix = numpy.array([[row[abs(i - j)] for j in range(int(size))] for i in range(int(size))])
    print(*(f"solution {value:f}" for value in numpy.linalg.solve(matrix, numpy.ones(int(size)))), sep="\n")


def heat(temperatures: str, powers: str, side: str, steps: str) -> None:
    """The temperatures of a chip of square cells after some steps, each cell with its number."""
    import numpy

    n, thickness, size = int(side), 0.0005, 0.016 / int(side)
    temp, power = (numpy.loadtxt(path).reshape(n, n) for path in (temperatures, powers))
    step = 0.001 * 0.5 * thickness * 1.75e6 / 3.0e6
    factor, aside, down = (
        step / (0.5 * 1.75e6 * thickness * size * size),
        2 * 100 * thickness,
        100 * size * size / thickness,
    )
    for _ in range(int(steps)):
        around = numpy.pad(temp, 1, mode="edge")
        beside = around[1:-1, 2:] + around[1:-1, :-2] + around[2:, 1:-1] + around[:-2, 1:-1] - 4 * temp
        temp = temp + factor * (power + beside * aside + (80 - temp) * down)
    print(*(f"{at}\t{value:g}" for at, value in enumerate(temp.ravel())), sep="\n")


def centres(path: str, count: str) -> None:
    """The means of points that belong together by their numbers, which stand before them."""
    import numpy

    points = numpy.loadtxt(path)
    means = [points[points[:, 0] % int(count) == at, 1:].mean(0) for at in range(int(count))]
    print(*(" ".join(f"{value:.2f}" for value in mean) for mean in sorted(means, key=lambda mean: mean[0])), sep="\n")


def wavelets(path: str, side: str, levels: str) -> None:
    """The integer transform 5/3 of a grey picture, each level of the low frequencies of the one before, as bytes about 128."""
    width = int(side)
    values = [byte - 128 for byte in Path(path).read_bytes()]
    picture = [values[at : at + width] for at in range(0, width * width, width)]
    bands: list[int] = []
    for _ in range(int(levels)):
        low, others = _level(picture)
        bands = [*others, *bands]
        picture = low
    first = [value for line in picture for value in line]
    print("bytes", *(min(max(value + 128, 0), 255) for value in [*first, *bands]))


def _level(picture: list[list[int]]) -> tuple[list[list[int]], list[int]]:
    """The low frequencies, and the three other bands; columns are transformed first."""
    columns = [_split(list(column)) for column in zip(*picture)]
    low, high = (list(zip(*(column[side] for column in columns))) for side in (0, 1))
    rows, other_rows = ([_split(list(row)) for row in side] for side in (low, high))
    bands = [row[1] for row in rows], [row[0] for row in other_rows], [row[1] for row in other_rows]
    return [row[0] for row in rows], [value for band in bands for row in band for value in row]


def _split(line: list[int]) -> tuple[list[int], list[int]]:
    """Low and high frequencies, with the line mirrored at its ends, divided as C divides integers."""
    even, odd = line[::2], line[1::2]
    high = [odd[i] - int((even[i] + even[min(i + 1, len(even) - 1)]) / 2) for i in range(len(odd))]
    low = [even[i] + int((high[max(i - 1, 0)] + high[i] + 2) / 4) for i in range(len(even))]
    return low, high


if __name__ == "__main__":
    {"centres": centres, "heat": heat, "linear_system": linear_system, "wavelets": wavelets}[sys.argv[1]](*sys.argv[2:])
