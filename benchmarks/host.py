"""What a training step costs on the platform host, compared with the same program written for the CPU.

    python benchmarks/host.py [--pairs N] [--rounds N] [--steps N]

Two processes with one thread each, one for each program, take turns; times are of the processor. Where a process happens to have
its memory makes it faster or slower by a percent or two for as long as it lives, so that there are several such pairs. Printed
are the median of the ratios of neighbouring rounds, and the interval in which the middle half of the pairs' own medians lies.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median, quantiles
from typing import Any

_SOURCES = str(Path(__file__).resolve().parent.parent / "src")

# The program says where its tensors and its model are to be, and nothing else differs.
_PROGRAM = """
import sys, time
import torch
from torch import nn

device = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(0)
nets = {
    "convolutions": lambda: nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 16, 10)),
    "transformer": lambda: nn.Sequential(nn.TransformerEncoder(nn.TransformerEncoderLayer(
        64, 4, 128, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False), nn.Flatten(), nn.Linear(64 * 16, 10)),
}
shapes = {"convolutions": (64, 1, 8, 8), "transformer": (32, 16, 64)}
net = nets[sys.argv[2]]().to(device)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
batches = [(torch.randn(shapes[sys.argv[2]]), torch.randint(10, shapes[sys.argv[2]][:1])) for _ in range(8)]

def steps(count):
    for number in range(count):
        x, y = batches[number % 8]
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()

steps(20)
print("ready", flush=True)
for line in sys.stdin:
    before = time.process_time()
    steps(int(line))
    print(time.process_time() - before, flush=True)
"""


def main() -> None:
    """Measure both networks, and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=8, help="pairs of processes")
    parser.add_argument("--rounds", type=int, default=40, help="how often each program of a pair is measured")
    parser.add_argument("--steps", type=int, default=20, help="steps of a round")
    options = parser.parse_args()
    for net in ("convolutions", "transformer"):
        pairs = [_ratios(net, options.rounds, options.steps) for _ in range(options.pairs)]
        ratios = [ratio for rounds, _ in pairs for ratio in rounds]
        low, _, high = quantiles([median(rounds) for rounds, _ in pairs], n=4)
        step = f"{1000 * median(step for _, step in pairs):.2f} ms a step on the CPU"
        print(f"{net}: host / cpu {median(ratios):.3f} [{low:.3f}, {high:.3f}], {step}")


def _ratios(net: str, rounds: int, steps: int) -> tuple[list[float], float]:
    """The ratios of one pair of processes, and the seconds that a step takes on the CPU."""
    programs = {name: _start(name, net) for name in ("cpu", "host")}
    ratios, times = [], []
    for _ in range(rounds):
        seconds = {name: _measured(program, steps) for name, program in programs.items()}
        ratios.append(seconds["host"] / seconds["cpu"])
        times.append(seconds["cpu"] / steps)
    for program in programs.values():
        program.stdin.close()
        program.wait()
    return ratios, median(times)


def _start(name: str, net: str) -> Any:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TORCHADA_")}
    settings = {"TORCHADA_PLATFORM": "host"} if name == "host" else {"TORCHADA_DISABLE": "1"}
    device = "cuda" if name == "host" else "cpu"
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, device, net],
        env={**kept, **settings, "PYTHONPATH": os.pathsep.join(filter(None, [_SOURCES, kept.get("PYTHONPATH")]))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    program.stdout.readline()
    return program


def _measured(program: Any, steps: int) -> float:
    program.stdin.write(f"{steps}\n")
    program.stdin.flush()
    return float(program.stdout.readline())


if __name__ == "__main__":
    main()
