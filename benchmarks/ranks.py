"""What does a rank cost, and does that grow with the number of ranks? Memory, files, threads and processor time of each rank.

Every rank trains a small model with DistributedDataParallel and then looks at itself in /proc. Three programs are compared: CUDA
code with torchada on the simulator, the same for MUSA there without torchada, and the same for the CPU with gloo, without
either. The first less the second is what torchada costs. Ranks have one thread for computing, as under torchrun.

    python benchmarks/ranks.py [--ranks 2 4 8 16] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

WAYS = {
    "torchada": {"TORCHADA_SIMULATE": "1"},
    "torch_musa": {"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    "cpu": {"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
}
_DEVICES = {"torchada": "cuda", "torch_musa": "musa", "cpu": "cpu"}
_GROUPS = {"torchada": "nccl", "torch_musa": "mccl", "cpu": "gloo"}
_UNITS = {"private_mib": "MiB", "shared_mib": "MiB", "files": "", "threads": "", "cpu_s": "s", "keys": "", "loss": ""}


@dataclass(frozen=True)
class Fit:
    """A figure of one rank, as `alone + each * (ranks - 1)`."""

    alone: float
    each: float

    @classmethod
    def of(cls, points: dict[int, float]) -> Fit:
        """The line through the points, by least squares."""
        x, y = [ranks - 1 for ranks in points], list(points.values())
        middle = mean(x)
        spread = sum((value - middle) ** 2 for value in x)
        each = sum((a - middle) * b for a, b in zip(x, y)) / spread if spread else 0.0
        return cls(mean(y) - each * middle, each)

    def at(self, ranks: int) -> float:
        """What the line says of a rank among so many."""
        return self.alone + self.each * (ranks - 1)


def main() -> int:
    """Measure each way with each number of ranks, and print the figures and their lines."""
    options = _parse()
    if options.rank_of:
        _be_a_rank(options.rank_of, Path(options.folder))
        return 0
    measured = {way: {ranks: _measure(way, ranks) for ranks in options.ranks} for way in options.ways}
    for way, by_ranks in measured.items():
        print("\n".join(_lines(way, by_ranks)))
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1), encoding="utf-8")
    return 0


def _lines(way: str, by_ranks: dict[int, dict[str, float]]) -> Iterator[str]:
    yield f"{way}, by the number of ranks: " + " ".join(map(str, by_ranks))
    for figure, unit in _UNITS.items():
        points = {ranks: figures[figure] for ranks, figures in by_ranks.items()}
        fit = Fit.of(points)
        values = " ".join(f"{value:9.4g}" for value in points.values())
        line = f"{fit.alone:8.2f} + {fit.each:.4f} for each other rank; 1,024 ranks: {fit.at(1024):.0f}"
        yield f"  {figure:12} {values} {unit:4} {line}"


def _measure(way: str, ranks: int) -> dict[str, float]:
    """The means over the ranks of one run but the first, which keeps the store for all."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--rank-of", way, "--folder", folder]
        shared = {
            **os.environ,
            **WAYS[way],
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(_free_port()),
            "OMP_NUM_THREADS": "1",
        }
        shared |= {"WORLD_SIZE": str(ranks), "MUSASIM_DEVICE_COUNT": str(ranks)}
        started = [
            subprocess.Popen(command, env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
            for rank in range(ranks)
        ]
        codes = [process.wait() for process in started]
        if any(codes):
            raise SystemExit(f"{way} with {ranks} ranks: exit codes {codes}")
        seen = [
            json.loads((Path(folder) / str(rank)).read_text(encoding="utf-8"))
            for rank in range(min(1, ranks - 1), ranks)
        ]
    return {figure: mean(each[figure] for each in seen) for figure in _UNITS}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _be_a_rank(way: str, folder: Path) -> None:
    if way == "torch_musa":
        import musasim

        musasim.install()
    import torch
    import torch.distributed as dist

    if way == "torch_musa":
        import torch_musa  # noqa: F401
    rank = int(os.environ["RANK"])
    place = torch.device(_DEVICES[way], rank) if way != "cpu" else torch.device("cpu")
    if way != "cpu":
        getattr(torch, _DEVICES[way]).set_device(rank)
    dist.init_process_group(_GROUPS[way])
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).to(place)
    parallel = torch.nn.parallel.DistributedDataParallel(model, device_ids=None if way == "cpu" else [rank])
    optimizer = torch.optim.AdamW(parallel.parameters())
    for _ in range(5):
        loss = parallel(torch.ones(8, 64, device=place)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.barrier()
    keys = dist.distributed_c10d._get_default_store().num_keys()
    figures = {**_of_this_process(), "keys": float(keys), "loss": loss.item()}
    dist.barrier()  # nobody ends before all have looked
    (folder / str(rank)).write_text(json.dumps(figures), encoding="utf-8")
    dist.destroy_process_group()


def _of_this_process() -> dict[str, float]:
    kib = {
        line.split(":")[0]: int(line.split()[1])
        for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    }
    private = kib["Private_Clean"] + kib["Private_Dirty"]
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    times = os.times()
    return {
        "private_mib": private / 1024,
        "shared_mib": (kib["Rss"] - private) / 1024,
        "files": float(len(os.listdir("/proc/self/fd")) - 1),
        "threads": float(status["Threads"]),
        "cpu_s": times.user + times.system,
    }


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rank-of", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
