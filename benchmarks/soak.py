"""Does anything grow in a process that runs for long? Rounds of training for CUDA, with memory and file descriptors after each.

A round trains with a data loader that pins memory, replays a captured step, writes and reads a checkpoint, reduces over a process
group of one, and disables and enables torchada again. What must not grow is compared between the second quarter of the rounds and
the last: resident memory, open files, what is allocated on the device, threads. The program exits with 1 if something has grown.

    TORCHADA_SIMULATE=1 python benchmarks/soak.py [--minutes N | --rounds N] [--steps N] [--workers N] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median

import torch
from torch.utils.data import DataLoader, TensorDataset

import torchada

#: How much more the last quarter may have than the second; memory that is in use varies by what the allocators keep.
ALLOWED = {"resident_mib": 16.0, "descriptors": 0.5, "device_bytes": 0.0, "threads": 0.5}
#: What PyTorch keeps of a round, in MiB: about 1 KiB for each process group (init_process_group chains sys.excepthook, and caches
#: addresses), and 150 bytes for each of the twelve kernels that enable() registers (the path of the source among them).
#: The round's record is in it too.
KEPT_IN_A_ROUND = 4 / 1024


@dataclass(frozen=True)
class Round:
    """What was measured at the end of a round. `switch_ms` is the processor time of disable() and enable()."""

    number: int
    loss: float
    resident_mib: float
    descriptors: int
    device_bytes: int
    threads: int
    switch_ms: float


def main() -> int:
    """Run the rounds, print a summary, and say what has grown."""
    options = _parse()
    end = time.monotonic() + 60 * options.minutes
    rounds: list[Round] = []
    with tempfile.TemporaryDirectory() as folder:
        while len(rounds) < options.rounds if options.rounds else time.monotonic() < end:
            rounds.append(_round(len(rounds), options.steps, options.workers, Path(folder)))
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(rounds[-1])) + "\n")
    for line in summary(rounds):
        print(line)
    grown = growth(rounds)
    for name, by in grown.items():
        print(f"grown: {name} by {by:g}, allowed {ALLOWED[name]:g}")
    return 1 if grown else 0


def summary(rounds: list[Round]) -> Iterator[str]:
    """What the rounds of each quarter measured, as means."""
    yield f"{len(rounds)} rounds, switch {median(round_.switch_ms for round_ in rounds):.1f} ms (median)"
    for name in ALLOWED:
        quarters = ", ".join(f"{_mean(rounds, quarter, name):g}" for quarter in range(4))
        yield f"{name}: {quarters}"


def growth(rounds: list[Round]) -> dict[str, float]:
    """By how much the last quarter exceeds the second, where that is more than is allowed. Needs at least four rounds."""
    if len(rounds) < 4:
        raise SystemExit("a comparison needs at least four rounds")
    by = {name: _mean(rounds, 3, name) - _mean(rounds, 1, name) for name in ALLOWED}
    # Half of the rounds lie between the middles of the two quarters.
    by["resident_mib"] -= KEPT_IN_A_ROUND * len(rounds) / 2
    return {name: more for name, more in by.items() if more > ALLOWED[name]}


def _mean(rounds: list[Round], quarter: int, name: str) -> float:
    size = len(rounds) // 4
    values: list[float] = [getattr(round_, name) for round_ in rounds[quarter * size : (quarter + 1) * size]]
    return round(mean(values), 2)


def _round(number: int, steps: int, workers: int, folder: Path) -> Round:
    torch.manual_seed(number)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss = _train(model, optimizer, steps, workers)
    _replay(model, steps)
    _checkpoint(model, optimizer, folder / "checkpoint.pt")
    _reduce(folder / f"store{number}")
    del model, optimizer
    return Round(number, loss, _resident(), _descriptors(), torch.cuda.memory_allocated(), _threads(), _switch())


def _train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int, workers: int) -> float:
    data = TensorDataset(torch.randn(8 * steps, 16), torch.randn(8 * steps, 1))
    loss = torch.zeros((), device="cuda")
    for inputs, wanted in DataLoader(data, batch_size=8, pin_memory=True, num_workers=workers):
        optimizer.zero_grad()
        given = model(inputs.cuda(non_blocking=True))
        loss = torch.nn.functional.mse_loss(given, wanted.cuda(non_blocking=True))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return loss.item()


def _replay(model: torch.nn.Module, steps: int) -> None:
    still = torch.zeros(8, 16, device="cuda")
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(side):
        model(still)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        given = model(still)
    for step in range(steps):
        still.fill_(step)
        graph.replay()
    with torch.no_grad():
        torch.testing.assert_close(given, model(still))


def _checkpoint(model: torch.nn.Module, optimizer: torch.optim.Optimizer, path: Path) -> None:
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    model.load_state_dict(torch.load(path, map_location="cuda")["model"])


def _reduce(store: Path) -> None:
    torch.distributed.init_process_group("nccl", init_method=f"file://{store}", rank=0, world_size=1)
    values = torch.ones(4, device="cuda")
    torch.distributed.all_reduce(values)
    assert values.sum().item() == 4
    torch.distributed.destroy_process_group()


def _switch() -> float:
    begin = time.process_time()
    torchada.disable()
    torchada.enable()
    return 1000 * (time.process_time() - begin)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _threads() -> int:
    return max(threading.active_count(), len(os.listdir("/proc/self/task")))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=0, help="this many rounds, however long they take")
    parser.add_argument("--steps", type=int, default=20, help="of training and of replay, in each round")
    parser.add_argument("--workers", type=int, default=0, help="processes of the data loader")
    parser.add_argument("--out", type=Path, help="a file that gets a line of JSON for each round")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
