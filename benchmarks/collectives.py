"""What a collective costs on the simulated device, and on gloo with tensors of the CPU: `python -m benchmarks.collectives`.

Two processes alternate between the two backends within each round, so that the noise of the machine affects both alike. The
ratio is that of the medians. The simulator adds the description that ranks exchange before every operation.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

SIZES = (16, 1 << 16, 1 << 20)  # elements of float32
CALLS = 20


def _operations(size: int) -> dict[str, Callable[[str, Any, int], Any]]:
    import torch
    import torch.distributed as dist

    def tensors(device: str, count: int, parts: int = 1) -> Any:
        return torch.ones(count * parts, device=device)

    return {
        "all_reduce": lambda device, group, count: dist.all_reduce(tensors(device, count), group=group),
        "broadcast": lambda device, group, count: dist.broadcast(tensors(device, count), src=0, group=group),
        "all_gather_into_tensor": lambda device, group, count: dist.all_gather_into_tensor(
            tensors(device, count, size), tensors(device, count), group=group
        ),
        "reduce_scatter_tensor": lambda device, group, count: dist.reduce_scatter_tensor(
            tensors(device, count), tensors(device, count, size), group=group
        ),
        "all_to_all_single": lambda device, group, count: dist.all_to_all_single(
            tensors(device, count * size), tensors(device, count * size), group=group
        ),
    }


def measure(rank: int, size: int, rounds: int) -> list[tuple[str, int, float, float]]:
    """(operation, elements, seconds on mccl, seconds on gloo) for one call of each."""
    import torch.distributed as dist

    gloo = dist.new_group(backend="gloo")
    rows = []
    for name, operation in _operations(size).items():
        for count in SIZES:
            taken: dict[str, list[float]] = {"musa": [], "cpu": []}
            for _ in range(rounds):
                for device, group in (("musa", None), ("cpu", gloo)):
                    operation(device, group, count)
                    begin = time.perf_counter()
                    for _ in range(CALLS):
                        operation(device, group, count)
                    taken[device].append((time.perf_counter() - begin) / CALLS)
            rows.append((name, count, statistics.median(taken["musa"]), statistics.median(taken["cpu"])))
    return rows


def main() -> None:
    from support.ranks import Ranks  # type: ignore[import-not-found]  # of the tests

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    ranks = Ranks(options.ranks, MUSASIM_DEVICE_COUNT=str(options.ranks))
    try:
        rows = ranks.run(measure, options.rounds, patience=1800)[0]
    finally:
        ranks.stop()
    print(f"{'operation':24}{'elements':>10}{'mccl us':>10}{'gloo us':>10}{'ratio':>7}")
    for name, count, ours, theirs in rows:
        print(f"{name:24}{count:10}{ours * 1e6:10.0f}{theirs * 1e6:10.0f}{ours / theirs:7.2f}")


if __name__ == "__main__":
    main()
