"""What a launch of a Triton kernel costs on the simulator, compared with the same kernel in Triton's own interpreter.

`launch / interpreter` is `kernel[grid](...)` on tensors of the device, under redirection, against the interpreter called directly
on tensors of the CPU (`triton.runtime.interpreter.InterpretedFunction`): what the simulator adds, its checks of memory included.
Both alternate, call by call, and the ratio is that of the medians. `redirected / not` is the launch with torchada in force against
the same one inside `torchada.disabled()`. `import` is `import torch, triton` with and without the simulator.

    python benchmarks/triton_launch.py [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
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


@triton.jit  # type: ignore[untyped-decorator]
def scaled_sum(x, y, out, n, scale, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """out = x * scale + y."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) * scale + tl.load(y + i, mask=mask), mask=mask)


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


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


def processor_time(code: str, variables: dict[str, str]) -> float:
    """Processor time of an interpreter that runs `code`, in milliseconds."""
    before = os.times()
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **variables}, check=True)
    after = os.times()
    return 1e3 * (after.children_user + after.children_system - before.children_user - before.children_system)


IMPORTS = {
    "import torch, triton": {"TORCHADA_SKIP_AREAS": "libraries.triton"},
    "import torch": {"TORCHADA_SKIP_AREAS": "libraries.triton"},
    "import triton": {"TORCHADA_DISABLE": "1"},
}


def pair(code: str, without: dict[str, str], first: bool) -> tuple[float, float]:
    """What `code` costs with the area and without it; `first` says which of them is measured first."""
    order = ({}, without) if first else (without, {})
    times = [processor_time(code, variables) for variables in order]
    return (times[0], times[1]) if first else (times[1], times[0])


def imports(rounds: int) -> None:
    """Print what the imports cost with the area and without it: the medians, their difference with its quartiles, and that of the
    smallest figures, which other work on the machine disturbs least."""
    for code, without in IMPORTS.items():
        pairs = [pair(code, without, bool(number % 2)) for number in range(rounds + 1)][1:]
        ours, theirs = zip(*pairs)
        more = sorted(mine - other for mine, other in pairs)
        spread = f"[{more[len(more) // 4]:+.0f}, {more[-1 - len(more) // 4]:+.0f}]"
        figures = f"{median(ours):.0f} / {median(theirs):.0f} ms, {median(more):+.0f} {spread}"
        print(f"{code}: {figures}, smallest {min(ours) - min(theirs):+.0f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--imports", type=int, default=9)
    options = parser.parse_args()
    rounds = options.rounds
    from triton.runtime.interpreter import InterpretedFunction

    on_device = launches("cuda", scaled_sum)
    ours, theirs, times = ratio(on_device, launches("cpu", InterpretedFunction(scaled_sum.fn)), rounds)
    print(f"launch / interpreter: {ours:.0f} / {theirs:.0f} us = {times:.2f}")
    native = launches("musa", scaled_sum)
    with torchada.disabled():
        native()
        undone = [seconds(native) for _ in range(rounds)]
    redirected = median([seconds(native) for _ in range(rounds)]) * 1e6
    plain = median(undone) * 1e6
    print(f"redirected / not: {redirected:.0f} / {plain:.0f} us = {redirected / plain:.2f}")
    imports(options.imports)


if __name__ == "__main__":
    main()
