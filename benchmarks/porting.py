"""How fast CUDA sources are ported: by torchada, by torch's hipify and by torchada 0.1.103, on the same files, on one thread.

    python benchmarks/porting.py SRC... [--earlier FOLDER] [--checkout OTHER] [--megabytes N] [--rounds N]

SRC are folders with CUDA sources. FOLDER has torchada 0.1.103 (`pip install --no-deps --target FOLDER torchada==0.1.103`), which
runs in a process of its own on a sample, because it needs minutes where the others need seconds. OTHER is another checkout of
torchada, which gets all sources in a process of its own. Figures are MB per second of processor time, so that other load matters
less: the median of rounds in which each has its turn. Then `port_tree` ports whole trees in one process: the first run, and one
over the unchanged tree, both measured by the clock and by processor time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT / "src"))

from torchada.porting import Project, Translator, port_tree  # noqa: E402

SUFFIXES = {".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc"}
LARGEST = 300_000  # bytes; larger files are generated
SAMPLE = 0.25  # megabytes for the earlier release
EARLIER = """
from torchada.utils.cpp_extension import _port_cuda_source
def port(texts):
    for text in texts:
        _port_cuda_source(text)
"""
OTHER = """
from torchada.porting import Translator
def port(texts):
    translator = Translator()
    for text in texts:
        translator.port(text.encode())
"""
PROCESS = """
import pickle, sys, time
sys.path.insert(0, sys.argv[1])
exec(sys.argv[3])
texts = pickle.load(sys.stdin.buffer)
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    sys.stdin.buffer.readline()
    started = time.process_time()
    port(texts)
    print("took", time.process_time() - started, flush=True)
"""

Rate = Callable[[], float]


def corpus(roots: Sequence[Path], megabytes: float) -> list[str]:
    """Sources below `roots`, about `megabytes` of them, taken evenly from all."""
    files = [file for root in roots for file in sorted(root.rglob("*")) if file.suffix in SUFFIXES and file.is_file()]
    files = [file for file in files if 0 < file.stat().st_size < LARGEST]
    step = max(1, int(sum(file.stat().st_size for file in files) / (megabytes * 1e6)))
    return [file.read_bytes().decode("utf-8", "replace") for file in files[::step]]


def size(texts: Sequence[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def ours(texts: Sequence[str]) -> Rate:
    """A new translator in each round, because a translator remembers words."""
    sources = [text.encode() for text in texts]

    def rate() -> float:
        started = time.process_time()
        translator = Translator()
        for source in sources:
            translator.port(source)
        return size(texts) / (time.process_time() - started)

    return rate


def hipify(texts: Sequence[str]) -> Rate:
    """torch's hipify as BuildExtension calls it: it reads and writes files, in a folder of their own."""
    from torch.utils.hipify import hipify_python

    def rate() -> float:
        with tempfile.TemporaryDirectory() as folder:
            for number, text in enumerate(texts):
                Path(folder, f"{number}.cu").write_text(text)
            hipify_python.HIPIFY_FINAL_RESULT.clear()
            started = time.process_time()
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                hipify_python.hipify(
                    project_directory=folder,
                    output_directory=folder,
                    includes=[f"{folder}/*"],
                    show_detailed=False,
                    is_pytorch_extension=True,
                )
            return size(texts) / (time.process_time() - started)

    return rate


@contextmanager
def apart(program: str, folder: Path, texts: Sequence[str], rounds: int) -> Iterator[Rate]:
    """Another torchada's function for sources, in a process of its own."""
    import pickle

    command = [sys.executable, "-c", PROCESS, str(folder), str(rounds), program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        pickle.dump(texts, process.stdin)
        process.stdin.flush()
        _answer(process.stdout.readline, "ready")

        def rate() -> float:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
            return size(texts) / float(_answer(process.stdout.readline, "took"))

        yield rate


def _answer(read: Callable[[], bytes], word: str) -> str:
    """The rest of the next line that begins with `word`; the program prints other lines too."""
    while line := read().decode():
        if line.startswith(word):
            return line[len(word) :].strip()
    raise SystemExit("the other torchada did not answer")


def compare(texts: Sequence[str], release: Path | None, checkout: Path | None, rounds: int) -> dict[str, list[float]]:
    """MB per second of each, for each round."""
    few = texts[:: max(1, int(size(texts) / SAMPLE))]
    rates: dict[str, Rate] = {"torchada": ours(texts), "torch's hipify": hipify(texts[::4])}
    with ExitStack() as stack:
        if checkout is not None:
            rates["the other checkout"] = stack.enter_context(apart(OTHER, checkout / "src", texts, rounds))
        if release is not None:
            rates["torchada 0.1.103"] = stack.enter_context(apart(EARLIER, release, few, rounds))
        return _rounds(rates, rounds)


def _rounds(rates: dict[str, Rate], rounds: int) -> dict[str, list[float]]:
    measured: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, rate in rates.items():
            measured.setdefault(name, []).append(rate())
    return measured


def again(roots: Sequence[Path]) -> None:
    """The first run over each tree, and one over the unchanged tree; the median of three."""
    with tempfile.TemporaryDirectory() as folder:
        for number, root in enumerate(roots):
            first, *others = [_run(root, Path(folder) / str(number)) for _ in range(4)]
            clock, processor = (median(run[kind] for run in others) for kind in (0, 1))
            print(
                f"{root.name}: first {first[0]:.2f} s, again {clock:.3f} s, {100 * clock / first[0]:.1f} %; "
                f"of the processor {first[1]:.2f} s, {processor:.3f} s, {100 * processor / first[1]:.1f} %"
            )


def _run(root: Path, out: Path) -> tuple[float, float]:
    started = time.process_time()
    tree = port_tree(root, out, Project(), processes=1, only_sources=True)
    return tree.seconds, time.process_time() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roots", nargs="+", type=Path)
    parser.add_argument("--earlier", type=Path)
    parser.add_argument("--checkout", type=Path)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    texts = corpus(options.roots, options.megabytes)
    measured = compare(texts, options.earlier, options.checkout, options.rounds)
    print(f"{len(texts):,} sources, {size(texts):.1f} MB")
    for name, rates in measured.items():
        ratio = median(own / other for own, other in zip(measured["torchada"], rates, strict=True))
        print(f"{name:18} {median(rates):8.2f} MB/s, torchada is {ratio:6.2f} times as fast")
    again(options.roots)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
