"""What a launch of a Triton kernel costs on the simulator, compared with the same kernel in Triton's own interpreter.

`launch / interpreter` is `kernel[grid](...)` on tensors of the device, under redirection, against the interpreter called directly
on tensors of the CPU (`triton.runtime.interpreter.InterpretedFunction`): what the simulator adds, its checks of memory included.
Both alternate, call by call, and the ratio is that of the medians. `redirected / not` is the launch with torchada in force against
the same one inside `torchada.disabled()`; these alternate too. What the imports cost is counted by `triton_imports.py`.

    python benchmarks/triton_launch.py [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

os.environ.setdefault("TORCHADA_SIMULATE", "1")

import torch
import triton
import triton.language as tl

import torchada

SIZE, BLOCK = 4096, 1024
TURN = 10


@triton.jit  # type: ignore[untyped-decorator]
def scaled_sum(x, y, out, n, scale, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """out = x * scale + y."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) * scale + tl.load(y + i, mask=mask), mask=mask)


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call in all threads, which other work on the machine changes less than how long it takes."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def ratio(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """The medians of two calls that alternate, in microseconds, and their ratio."""
    for call in (ours, theirs):
        call()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    first, second = (median(column) * 1e6 for column in zip(*pairs))
    return first, second, first / second


def launches(device: str, kernel: Any) -> Callable[[], object]:
    """A launch of `kernel` on tensors of `device`."""
    x, y, out = (torch.ones(SIZE, device=device) for _ in range(3))
    return lambda: kernel[(SIZE // BLOCK,)](x, y, out, SIZE, 2.0, BLOCK=BLOCK)


def without_and_with(launch: Callable[[], object], rounds: int) -> tuple[list[float], list[float]]:
    """Launches without torchada and with it, ten at a time in turn; the first after each switch is not timed."""
    plain: list[float] = []
    redirected: list[float] = []
    for _ in range(-(-rounds // TURN)):
        with torchada.disabled():
            launch()
            plain += [seconds(launch) for _ in range(TURN)]
        launch()
        redirected += [seconds(launch) for _ in range(TURN)]
    return plain, redirected


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    rounds = options.rounds
    from triton.runtime.interpreter import InterpretedFunction

    on_device = launches("cuda", scaled_sum)
    ours, theirs, times = ratio(on_device, launches("cpu", InterpretedFunction(scaled_sum.fn)), rounds)
    print(f"launch / interpreter: {ours:.0f} / {theirs:.0f} us = {times:.2f}")
    plain, redirected = (median(times) * 1e6 for times in without_and_with(launches("musa", scaled_sum), rounds))
    print(f"redirected / not: {redirected:.0f} / {plain:.0f} us = {redirected / plain:.2f}")


if __name__ == "__main__":
    main()
