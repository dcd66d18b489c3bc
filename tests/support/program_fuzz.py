"""Random programs for CUDA, run on the device and on the CPU: tensors, views, streams, captured graphs, memory.

    TORCHADA_SIMULATE=1 PYTHONPATH=tests python -m support.program_fuzz [FIRST_SEED] [PROGRAMS]

A program is a list of steps that changes a few tensors in place. On the device, a step may run on another stream, several may be
captured and replayed, and memory is taken and given back in between; the CPU runs the same steps one after the other.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

Tensors = list[torch.Tensor]
Step = Callable[[Tensors], None]
_SIZE = 6


@dataclass
class Program:
    """Steps in groups: a group runs on one stream, and `replays` times as a captured graph if that is not 0."""

    seed: int
    groups: list[tuple[int, int, list[tuple[str, Step]]]] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(
            f"stream {stream}, {replays} replays: {', '.join(name for name, _ in steps)}"
            for stream, replays, steps in self.groups
        )


def program(seed: int) -> Program:
    """The program of a seed."""
    choose = random.Random(seed)
    made = Program(seed)
    for _ in range(choose.randint(2, 8)):
        replays = choose.choice([0, 0, 1, 2, 3])
        steps = [_step(choose) for _ in range(choose.randint(1, 6))]
        made.groups.append((choose.randrange(3), replays, steps))
    return made


def _step(choose: random.Random) -> tuple[str, Step]:
    name = choose.choice(sorted(_STEPS))
    a, b, c = (choose.randrange(4) for _ in range(3))
    row = choose.randrange(_SIZE)
    return f"{name}({a}, {b}, {c}, {row})", lambda tensors: _STEPS[name](tensors, a, b, c, row)


def _add(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a].copy_((t[b] + t[c]) * 0.5)


def _matmul(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a].copy_(torch.tanh(t[b] @ t[c].t()))


def _row(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a][row] = t[b][:, row].flip(0)


def _through_view(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a].view(-1)[row::3].mul_(-0.5)


def _sort(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a].copy_(t[b].sort(dim=row % 2, stable=True).values)


def _scan(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a].copy_(torch.cumsum(t[b], row % 2).div(_SIZE))


def _integers(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a].copy_((t[b] * 100).to(torch.int32).bitwise_and(63).to(t[a].dtype).div(64))


def _choose(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a].copy_(torch.where(t[b] > t[c], t[b], t[c] - 1).sin())


def _gather(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a].index_copy_(0, t[b].argsort(dim=0, stable=True)[:, row], t[c].clone())


def _joined(t: Tensors, a: int, b: int, c: int, row: int) -> None:
    t[a].copy_(torch.cat([t[b], t[c]])[row : row + _SIZE])


_STEPS: dict[str, Callable[[Tensors, int, int, int, int], None]] = {
    step.__name__[1:]: step
    for step in (_add, _matmul, _row, _through_view, _sort, _scan, _integers, _choose, _gather, _joined)
}


def on_the_cpu(made: Program) -> Tensors:
    """What the program's tensors are at its end."""
    tensors = _tensors(made.seed)
    for _, replays, steps in made.groups:
        for _ in range(replays or 1):
            for _, step in steps:
                step(tensors)
    return tensors


def on_the_device(made: Program) -> Tensors:
    """The same on the device."""
    tensors = [tensor.cuda() for tensor in _tensors(made.seed)]
    streams = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream(priority=-1)]
    graphs = []
    for number, replays, steps in made.groups:
        stream = streams[number]
        stream.wait_stream(torch.cuda.current_stream())
        if replays:
            graphs.append(_captured(tensors, steps))
        with torch.cuda.stream(stream):
            for _ in range(replays):
                graphs[-1].replay()
            for _, step in () if replays else steps:
                step(tensors)
        torch.cuda.current_stream().wait_stream(stream)
        _use_memory(made.seed + number)
    return [tensor.cpu() for tensor in tensors]


def _captured(tensors: Tensors, steps: list[tuple[str, Step]]) -> torch.cuda.CUDAGraph:
    before = [tensor.clone() for tensor in tensors]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _, step in steps:
            step(tensors)
    for tensor, value in zip(tensors, before):
        assert torch.equal(tensor, value), "a capture has computed"
    return graph


def _use_memory(seed: int) -> None:
    """Fill memory that is free with something else, so that a graph whose memory was given away shows it."""
    for size in random.Random(seed).choices([1, 100, 5000, 200_000], k=4):
        torch.full((size,), 7.0, dtype=torch.float64, device="cuda")
    if seed % 3 == 0:
        torch.cuda.empty_cache()


def _tensors(seed: int) -> Tensors:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(_SIZE, _SIZE, dtype=torch.float64, generator=generator) for _ in range(4)]


def difference(seed: int) -> str:
    """What is wrong with the program of a seed on the device, or ""."""
    made = program(seed)
    try:
        found = on_the_device(made)
    except Exception as error:  # whatever the device raises, the CPU did not
        return f"seed {seed}: {type(error).__name__}: {error}\n{made}"
    for index, (ours, right) in enumerate(zip(found, on_the_cpu(made))):
        if not torch.equal(ours, right):
            return f"seed {seed}: tensor {index} differs by {(ours - right).abs().max().item()}\n{made}"
    return ""


def main() -> None:
    """Print what is wrong, and how many programs were tried."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    found = [text for seed in range(first, first + count) if (text := difference(seed))]
    print(*found, sep="\n\n")
    print(f"{count} programs, {len(found)} differ")
    sys.exit(bool(found))


if __name__ == "__main__":
    import torchada  # noqa: F401

    main()
