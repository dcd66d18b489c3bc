"""`python -m outside.gpu_compare GPU.jsonl OURS.jsonl [KIND]`: how two records of `outside.gpu_record` differ.

Prints, for each kind of difference, in how many pairs of operator and type it is, and in which operators; with KIND, each pair.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOLERANCES = {"torch.float16": 1e-2, "torch.complex32": 1e-2, "torch.bfloat16": 6e-2}
Records = dict[str, dict[str, Any]]


def read(file: str) -> Records:
    rows = map(json.loads, Path(file).read_text(encoding="utf-8").splitlines())
    return {row["op"]: row for row in rows if "forward" in row}


def close(gpu: list[float] | None, ours: list[float] | None, dtype: str) -> bool:
    if gpu is None or ours is None:
        return gpu is ours
    tolerance = TOLERANCES.get(dtype, 2e-3)
    largest = max((abs(x) for x in gpu if math.isfinite(x)), default=1.0)
    allowed = [tolerance * max(1, abs(x), min(largest, 100) / 10) for x in gpu]
    same = (x == y or (x != x and y != y) or abs(x - y) <= limit for x, y, limit in zip(gpu, ours, allowed))
    return len(gpu) == len(ours) and all(same)


def of_tensors(gpu: list[Any], ours: list[Any]) -> Iterator[str]:
    """Which of shape, type, strides and numbers differ between two tensors."""
    for place, kind in ((0, "shape"), (1, "type")):
        if gpu[place] != ours[place]:
            yield kind
            return
    if any(a != b for size, a, b in zip(gpu[0], gpu[2], ours[2]) if size != 1) and 0 not in gpu[0]:
        yield "strides"
    if not close(gpu[4], ours[4], gpu[1]):
        yield "numbers"


def of_results(gpu: Any, ours: Any) -> Iterator[str]:
    """How the results of one sample differ; one that is a str is an error. What both refuse is the same, whatever the words."""
    if isinstance(gpu, str) or isinstance(ours, str):
        if type(gpu) is not type(ours):
            yield "refused by the GPU alone" if isinstance(gpu, str) else "refused by us alone"
    elif len(gpu) != len(ours):
        yield "number of results"
    else:
        for one, other in zip(gpu, ours):
            if isinstance(one, list) and isinstance(other, list):
                yield from of_tensors(one, other)


def differences(gpu: Records, ours: Records) -> Iterator[tuple[str, str, str, Any, Any]]:
    """Kind, operator, type and both results, for each sample that differs."""
    for op in gpu.keys() & ours.keys():
        for section in ("forward", "gradient", "autocast"):
            for dtype, results in gpu[op][section].items():
                others = ours[op][section].get(dtype, "not computed")
                if isinstance(results, str) or isinstance(others, str):  # the samples could not be made
                    results, others = [results], [others]
                for one, other in zip(results, others):
                    yield from ((f"{section}: {kind}", op, dtype, one, other) for kind in of_results(one, other))


def main(arguments: list[str]) -> None:
    gpu, ours = read(arguments[0]), read(arguments[1])
    computed = Counter(section for row in gpu.values() for section in ("forward", "gradient") for _ in row[section])
    print(
        f"{len(gpu.keys() & ours.keys())} operators; {computed['forward']} pairs forward, {computed['gradient']} gradients"
    )
    pairs: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for kind, op, dtype, one, other in differences(gpu, ours):
        if kind in arguments[2:] and (op, dtype) not in pairs[kind]:
            print(f"{op} {dtype}\n  GPU:  {str(one)[:300]}\n  ours: {str(other)[:300]}")
        pairs[kind].add((op, dtype))
    for kind, those in sorted(pairs.items()):
        print(f"{kind}: {len(those)} pairs: {', '.join(sorted({op for op, _ in those}))}")


if __name__ == "__main__":
    main(sys.argv[1:])
