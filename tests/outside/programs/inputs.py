"""Data for the programs of Rodinia, in its formats, which its repository does not contain. The same each time."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable
from pathlib import Path


def make(name: str, tree: Path) -> None:
    """Write the files of the generator `name` below `tree/data`."""
    _GENERATORS[name](random.Random(7), tree / "data")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


def graph(rng: random.Random, data: Path, nodes: int = 2000) -> None:
    """Nodes with the place and the number of their edges, the source, and the edges with their costs."""
    edges = [[rng.randrange(nodes) for _ in range(rng.randint(1, 5))] for _ in range(nodes)]
    places = [sum(map(len, edges[:at])) for at in range(nodes)]
    lines = [str(nodes), *(f"{place} {len(to)}" for place, to in zip(places, edges)), "", "0", ""]
    lines += [str(sum(map(len, edges))), *(f"{node} {rng.randint(1, 9)}" for to in edges for node in to)]
    _write(data / "bfs/small.txt", "\n".join(lines) + "\n")


def tree(rng: random.Random, data: Path, size: int = 5000) -> None:
    """The keys, with their number before them; how many are looked for, and ranges of how many keys."""
    keys = [rng.randrange(size) for _ in range(size)]
    _write(data / "b+tree/small.txt", "\n".join(map(str, [size, *keys])) + "\n")
    _write(data / "b+tree/commands.txt", "j 60 30\nk 100\n")


def mesh(rng: random.Random, data: Path, width: int = 24, height: int = 16) -> None:
    """Of each element of a channel its volume, and of four sides the neighbour and the normal: 0 is a wall, -1 the outside."""
    lines = [str(width * height)]
    for at in range(width * height):
        x, y = at % width, at // width
        right, left = (at + 2 if x + 1 < width else -1), (at if x else -1)
        above, below = (at + width + 1 if y + 1 < height else -1), (at - width + 1 if y else 0 if 6 <= x < 12 else -1)
        sides = [(right, "0.1 0 0"), (left, "-0.1 0 0"), (above, "0 0.1 0"), (below, "0 -0.1 0")]
        lines.append(f"{rng.uniform(0.9, 1.1):.6f} " + " ".join(f"{neighbour} {normal}" for neighbour, normal in sides))
    _write(data / "cfd/small.txt", "\n".join(lines) + "\n")


def picture(rng: random.Random, data: Path, side: int = 192) -> None:
    """Grey values without a header."""
    values = [(x * 2 + y + rng.randrange(16)) % 256 for y in range(side) for x in range(side)]
    path = data / "dwt2d/small.raw"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(values))


def grey(rng: random.Random, data: Path, rows: int = 64, columns: int = 48) -> None:
    """A picture in the format PGM, with values as text."""
    lines = [" ".join(str(rng.randint(20, 235)) for _ in range(columns)) for _ in range(rows)]
    _write(data / "srad/image.pgm", f"P2\n{columns} {rows}\n255\n" + "\n".join(lines) + "\n")


def temperatures(rng: random.Random, data: Path, side: int = 64, layers: int = 8) -> None:
    """Temperatures and powers, one value a line."""
    for suffix, count in (("", side * side), (f"x{layers}", side * side * layers)):
        for name, low, high in (("temp", 320, 340), ("power", 0, 0.01)):
            values = (f"{rng.uniform(low, high):.6f}" for _ in range(count))
            _write(data / f"hotspot/{name}_{side}{suffix}", "\n".join(values) + "\n")


def letters(rng: random.Random, data: Path, size: int = 16384) -> None:
    """Bytes, some of which are more frequent."""
    path = data / "huffman/small.in"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(min(int(rng.expovariate(0.1)), 255) for _ in range(size)))


def floats(rng: random.Random, data: Path, count: int = 20000) -> None:
    """Numbers between 0 and 1."""
    _write(data / "hybridsort/small.txt", "\n".join(f"{rng.random():.6f}" for _ in range(count)) + "\n")


def points(rng: random.Random, data: Path, count: int = 400, features: int = 8) -> None:
    """Points around two centres, each with its number before it."""
    centres = [[20 * at + rng.uniform(0, 10) for _ in range(features)] for at in range(2)]
    rows = ([at, *(value + rng.gauss(0, 0.3) for value in centres[at % 2])] for at in range(count))
    _write(data / "kmeans/small", "\n".join(" ".join(f"{value:.4f}" for value in row) for row in rows) + "\n")


def muscle(rng: random.Random, data: Path) -> None:
    """A heart muscle cell at rest: gates, buffers, ions in mM, the voltage, calmodulin; totals, a cycle, K and Mg."""
    gates = "1.4e-3 0.987 0.992 7e-6 1 0.025 0.025 4.1e-3 0.994 4.1e-3 0.994 8.6e-3 5.4e-3 0.887 8.8e-7 1.1e-7"
    buffers = "3.54 0.777 8.9e-3 0.118 0.01 3e-4 1.3e-3 0.138 2.2e-3 7.4e-3 9.9e-3 7.35e-2 0.115 1.19"
    ions = "0.5545 8.8 8.8 8.8 120 1.74e-4 1.03e-4 8.6e-5 -85.6 0.9946 1 1 0 0 0 0"
    calmodulin = [f"{rng.uniform(0.01, 0.1):.6f}" for _ in range(45)]
    _write(data / "myocyte/y.txt", "\n".join([*f"{gates} {buffers} {ions}".split(), *calmodulin]) + "\n")
    _write(
        data / "myocyte/params.txt",
        "\n".join([*(f"{rng.uniform(0.5, 1):.6f}" for _ in range(15)), "1000", "135", "1"]) + "\n",
    )


def hurricanes(rng: random.Random, data: Path, count: int = 500) -> None:
    """Records of 49 characters, with the place at fixed columns, and the list of files."""
    records = []
    for _ in range(count):
        when = f"{rng.randint(1950, 2004):4d} {rng.randint(1, 12):2d} {rng.randint(1, 28):2d} {rng.choice([0, 6, 12, 18]):2d}"
        where = f"{rng.uniform(7, 70):5.1f} {rng.uniform(0, 358):5.1f}"
        records.append(
            f"{when} {rng.randint(1, 28):2d} {'ALBERTO':<9s} {where} {rng.randint(10, 160):4d} {rng.randint(0, 899):4d}\n"
        )
    _write(data / "nn/small.db", "".join(records))
    _write(data / "nn/list", "../../data/nn/small.db\n")


def genome(rng: random.Random, data: Path, length: int = 2000) -> None:
    """A reference and pieces of it, in the format FASTA."""
    bases = "".join(rng.choice("ACGT") for _ in range(length))
    _write(data / "mummergpu/reference.fna", f">reference\n{bases}\n")
    starts = [rng.randrange(length - 60) for _ in range(20)]
    _write(data / "mummergpu/queries.fna", "".join(f">query{at}\n{bases[s : s + 60]}\n" for at, s in enumerate(starts)))


def film(rng: random.Random, data: Path) -> None:
    """Two grey frames of the size that heartwall's points lie in, the second one shifted."""
    _film(data / "heartwall/small.avi", 744, 656, rng)


def cells(rng: random.Random, data: Path) -> None:
    """Two grey frames of the size that leukocyte expects, with bright discs."""
    discs = [(100 + 60 * at, 220 - 25 * (at % 3)) for at in range(6)]
    _film(data / "leukocyte/small.avi", 640, 480, rng, discs)


def _film(path: Path, width: int, height: int, rng: random.Random, discs: Iterable[tuple[int, int]] = ()) -> None:
    """An AVI of two uncompressed grey frames, with its index; noise, and discs where some are asked for."""
    frames = 2
    noise = bytearray(rng.randbytes((width + frames) * (height + frames)))
    if discs:
        noise = bytearray(value // 16 + 60 for value in noise)
    for x, y in discs:
        inside = ((dx, dy) for dx in range(-12, 13) for dy in range(-12, 13) if dx * dx + dy * dy <= 144)
        for dx, dy in inside:
            noise[(y + dy) * (width + frames) + x + dx] = 200
    movie, index = b"movi", b""
    for shift in range(frames):
        lines = ((y + shift) * (width + frames) + shift for y in range(height))
        frame = b"".join(noise[at : at + width] for at in lines)
        index += b"00db" + struct.pack("<III", 0x10, len(movie), len(frame))
        movie += b"00db" + struct.pack("<I", len(frame)) + frame
    header = struct.pack("<14I", 40000, 0, 0, 0x10, frames, 0, 1, width * height, width, height, 0, 0, 0, 0)
    stream = (
        b"vidsGREY" + struct.pack("<5I", 0, 0, 0, 1, 25) + struct.pack("<7I", 0, frames, width * height, 0, 0, 0, 0)
    )
    form = struct.pack("<IiiHH6I", 40, width, height, 1, 8, 0, width * height, 0, 0, 0, 0)
    lists = _list(b"strl" + _chunk(b"strh", stream) + _chunk(b"strf", form))
    body = b"AVI " + _list(b"hdrl" + _chunk(b"avih", header) + lists) + _list(movie) + _chunk(b"idx1", index)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_chunk(b"RIFF", body))


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content


def _list(content: bytes) -> bytes:
    return _chunk(b"LIST", content)


_GENERATORS: dict[str, Callable[[random.Random, Path], None]] = {
    "graph": graph,
    "tree": tree,
    "mesh": mesh,
    "picture": picture,
    "grey": grey,
    "temperatures": temperatures,
    "letters": letters,
    "floats": floats,
    "points": points,
    "muscle": muscle,
    "hurricanes": hurricanes,
    "genome": genome,
    "film": film,
    "cells": cells,
}
