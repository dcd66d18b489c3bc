"""What a gate costs: calls of gated operators on the device and on the CPU, with torchada in force and without, in turns.

Times are processor time of the calling thread, the minimum over the rounds, in nanoseconds a call.

    TORCHADA_CPP_GATES=1 python benchmarks/gates.py [--rounds N]     # 0: gates in Python
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

import torchada
from torchada.areas.kernels._gates.gates import GATES

CALLS = 1500
Operator = Callable[[], object]


def operators(device: str) -> dict[str, Operator]:
    x = torch.randn(4, 4, device=device)
    return {
        "clamp": lambda: torch.clamp(x, 0, 1),
        "mm": lambda: torch.mm(x, x),
        "floor_divide": lambda: torch.floor_divide(x, 2),
        "elu": lambda: torch.ops.aten.elu(x),
        "histc": lambda: torch.histc(x, 4),
        "hardtanh": lambda: torch.nn.functional.hardtanh(x),
    }


def nanoseconds(call: Operator) -> float:
    begin = time.thread_time_ns()
    for _ in range(CALLS):
        call()
    return (time.thread_time_ns() - begin) / CALLS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    rounds = parser.parse_args().rounds
    measured: dict[tuple[str, str, bool], float] = {}
    calls = {(device, name): call for device in ("cpu", "musa") for name, call in operators(device).items()}
    with torch.no_grad():
        for _ in range(rounds):
            for is_on in (True, False):
                (torchada.enable if is_on else torchada.disable)()
                for (device, name), call in calls.items():
                    call()
                    key = device, name, is_on
                    measured[key] = min(measured.get(key, float("inf")), nanoseconds(call))
    torchada.enable()
    print(GATES.state)
    for device, name in calls:
        with_gate, without = measured[device, name, True], measured[device, name, False]
        print(f"{device:<5} {name:<13} {with_gate:>8.0f} {without:>8.0f} {with_gate - without:>+8.0f}")


if __name__ == "__main__":
    main()
