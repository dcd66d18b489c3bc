"""Mutated CUDA sources through the porter and through mcc's rewriting.

    PYTHONPATH=tests python -m support.source_fuzz FOLDER [FIRST_SEED] [COUNT]

A mutant is a real source with a few places deleted, doubled, exchanged, cut off, or filled with what lexers stumble over. Whatever
it holds, both end in time, move no line, and raise no error but their own.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from musasim.toolkit.compiler.rewrite import RewriteError, rewrite
from torchada.porting import port_source
from torchada.porting.findings import PortingError

Mutation = Callable[[bytes, random.Random], bytes]
MARKS = rb"""" ' \" \' \\ // /* */ R"( )" R"a( )a" # ## < > << >> <<< >>> ( ) [ ] { } , : :: ; . ... -> = \ ? @ $ 0x 1'0 u8"""
WORDS = b"""__global__ __device__ __shared__ __constant__ __launch_bounds__ __cluster_dims__ __managed__ __noinline__ template
    extern asm volatile #include #define #if #endif %:include __has_include namespace cuda is_cuda CUDA_VERSION operator decltype
    static_cast cudaMalloc cublasSgemm CUDA dlopen dlsym TORCH_LIBRARY_IMPL auto struct"""
WORDS_THAT_COUNT = [*WORDS.split(), b"<<<", b">>>", b"(", b"{", b"<", b'"', b","]
PIECES = [*MARKS.split(), *WORDS.split(), b"\n", b"\\\n", b"\r\n", b"\r", b"\t", b"\0", b"\xff", "é\u2028".encode()]
#: Seconds for a mutant, and for each of its bytes: many times what one takes.
LEAST, EACH = 1.0, 50e-6


def _span(text: bytes, choose: random.Random, most: int = 200) -> tuple[int, int]:
    """A place of the text, half of the time just behind a word that means something."""
    begin = choose.randrange(len(text) + 1)
    if choose.random() < 0.5 and (at := text.find(word := choose.choice(WORDS_THAT_COUNT), begin)) >= 0:
        begin, most = at + len(word), choose.choice((1, 3, 10, most))
    return begin, min(len(text), begin + choose.randint(0, most))


def _deleted(text: bytes, choose: random.Random) -> bytes:
    begin, end = _span(text, choose)
    return text[:begin] + text[end:]


def _doubled(text: bytes, choose: random.Random) -> bytes:
    begin, end = _span(text, choose)
    return text[:begin] + text[begin:end] * choose.choice((2, 3, 30)) + text[end:]


def _exchanged(text: bytes, choose: random.Random) -> bytes:
    (a, b), (c, d) = sorted((_span(text, choose), _span(text, choose)))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:] if b <= c else text[:b] + text[c:]


def _cut_off(text: bytes, choose: random.Random) -> bytes:
    begin, _ = _span(text, choose)
    return text[:begin] if choose.random() < 0.5 else text[begin:]


def _filled(text: bytes, choose: random.Random) -> bytes:
    begin, end = _span(text, choose, 20)
    pieces = [choose.choice(PIECES) for _ in range(choose.choice((1, 1, 2, 8)))]
    return text[:begin] + choose.choice((b"", b" ")).join(pieces) * choose.choice((1, 1, 1, 50)) + text[end:]


def _a_byte_changed(text: bytes, choose: random.Random) -> bytes:
    begin, _ = _span(text, choose)
    return text[:begin] + bytes([choose.randrange(256)]) + text[begin + 1 :]


MUTATIONS: list[Mutation] = [_deleted, _doubled, _exchanged, _cut_off, _filled, _filled, _filled, _a_byte_changed]


def mutant(sources: Sequence[bytes], seed: int) -> bytes:
    """The mutant of a seed."""
    choose = random.Random(seed)
    text = choose.choice(sources)
    for _ in range(choose.randint(1, 8)):
        text = choose.choice(MUTATIONS)(text, choose)
    return text


def fault(reader: str, text: bytes) -> str | None:
    """What "port" or "mcc" does wrong with a source."""
    began = time.process_time()
    try:
        wrong = READERS[reader](text)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    took = time.process_time() - began
    return f"{took:.1f} s for {len(text)} bytes" if wrong is None and took > LEAST + EACH * len(text) else wrong


def of_torch() -> list[bytes]:
    """The sources for device code that PyTorch's wheels contain."""
    package = importlib.util.find_spec("torch")
    assert package is not None and package.origin is not None
    return [file.read_bytes() for file in sorted((Path(package.origin).parent / "include").rglob("*.cuh"))]


def _ported(text: bytes) -> str | None:
    try:
        ported = port_source(text)
    except PortingError:
        return None
    if ported.text.count(b"\n") != text.count(b"\n") + ported.lines_before:
        return "lines have moved"
    lines = text.count(b"\n") + 1
    outside = [finding for finding in ported.findings if not 1 <= finding.line <= lines]
    return f"a finding outside of the source: {outside[0]}" if outside else None


def _rewritten(text: bytes) -> str | None:
    source = text.decode("utf-8", "surrogateescape")
    try:
        result = rewrite(source, "22 31")
    except RewriteError:
        return None
    return None if result.count("\n") == source.count("\n") else "lines have moved"


READERS: dict[str, Callable[[bytes], str | None]] = {"port": _ported, "mcc": _rewritten}


def main() -> None:
    folder, first, count = (
        Path(sys.argv[1]),
        *(int(word) for word in (sys.argv[2:] + ["0", "1000"][len(sys.argv) - 2 :])),
    )
    sources = [file.read_bytes() for file in sorted(folder.iterdir())]
    told = 0
    for seed in range(first, first + count):
        text = mutant(sources, seed)
        for reader in READERS:
            if wrong := fault(reader, text):
                told += 1
                print(f"seed {seed}: {reader}: {wrong}", flush=True)
    print(f"{count} mutants of {len(sources)} sources, {told} faults")


if __name__ == "__main__":
    main()
