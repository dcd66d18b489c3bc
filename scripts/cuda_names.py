"""Write docs/reference/cuda-names.md: what becomes of each name of CUDA's runtime, driver and libraries.

    python -m scripts.cuda_names [--check | --tsv]

The names are those that the porter knows (`scripts/known_names.py`, from the vendor's tables and the toolkit's lists in HIPIFY),
and those of device code, cuFile and NVTX (`scripts/listed_names.py`, from CUDA's headers).
A name is simulated where the simulated toolkit's headers, as its compiler sees them, have its counterpart. With --tsv, every name
is printed with its counterpart or the reason why it has none; with --check, only report whether the page is up to date.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from scripts import listed_names
from scripts.known_names import vendors

from musasim.toolkit.home import home
from torchada.porting.names import Names
from torchada.porting.symbols import known

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "cuda-names.md"
_HEADERS = ("musa.h", "musa_runtime.h", "mublas.h", "mublasLt.h", "musolver.h", "musparse.h", "mufft.h", "murand.h",
            "murand_kernel.h", "mccl.h", "muComplex.h", "musa_fp16.h", "musa_bf16.h", "musa_fp8.h")  # fmt: skip
_IDENTIFIER = re.compile(r"(?<!\w)[A-Za-z_]\w*")
_MACRO = re.compile(r"#\s*define\s+(\w+)")
_FUNCTION = re.compile(r"cu(?:blas|blasLt|sparse|solver\w*?|fft|rand|dnn)[A-Z]\w*(?<!_t)(?<!_st)")
_CALLED = re.compile(r"CUPTI_(?:RUNTIME|DRIVER)_TRACE_CBID_(\w+?)(?:_ptsz|_ptds)?(?:_v\d+)?(?:_ptsz|_ptds)?")
SIMULATED, TRANSLATED, REPORTED = "translated and simulated", "translated", "reported"
KEPT, STAYS = "unchanged and there", "unchanged"
_FATES = (SIMULATED, TRANSLATED, REPORTED, KEPT, STAYS)
_HEAD = """# Names of CUDA

Made by `python -m scripts.cuda_names`; a test compares them.

What becomes of the names of CUDA's runtime, driver and libraries in a source that is ported or built. **Translated** names have a
counterpart in a table of the vendor's. Those that are also **simulated** are in the simulated toolkit, so programs with them are
built and run there; a program with the others is ported, and fails on the simulator when it is compiled, with the name. What is
**reported** has no counterpart that is known: it stays as it is, and is named by file and line with the reason. Names that begin
as CUDA's do and are in none of these lists are taken for the project's own. NCCL's, NVRTC's, nvJPEG's and NPP's names are
known by how they begin, and are not listed.

Functions of device code keep their names. Those that are **there** are in the simulated toolkit; the others stop its compiler.
NVTX's names stay as well: there are those of the header that builds find, whose marks nobody records.

`python -m scripts.cuda_names --tsv` prints every name, types and enumerators too, with its counterpart or the reason.
"""


class Name(NamedTuple):
    """A name of CUDA's, the library it belongs to, its counterpart or the reason why it has none, and what becomes of it."""

    name: str
    library: str
    answer: str
    fate: str


def declared() -> frozenset[str]:
    """Every identifier and macro that the simulated toolkit's headers have, after their macros were expanded."""
    include = home() / "include"
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write("".join(f"#include <{name}>\n" for name in _HEADERS))
        source.flush()
        command = [str(include.parent / "bin" / "mcc"), "-x", "musa", "-E", source.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    headers = (path for path in include.rglob("*") if path.is_file())
    macros = {name for path in headers for name in _MACRO.findall(path.read_text(encoding="utf-8", errors="replace"))}
    return frozenset({*_IDENTIFIER.findall(done.stdout), *macros})


def names() -> Iterator[Name]:
    """Every name that the porter knows, in the order of the alphabet."""
    rules, simulated, all_known = Names(), declared(), known()
    for name in sorted({*all_known.translated, *all_known.lacking}):
        answer = rules.identifier(name)
        if answer is None:
            continue
        if answer.name is None:
            yield Name(name, answer.library, answer.reason or "", REPORTED)
        else:
            yield Name(name, answer.library, answer.name, SIMULATED if answer.name in simulated else TRANSLATED)


def others() -> Iterator[Name]:
    """The functions of device code, cuFile and NVTX, which no list of the porter's has."""
    rules, sections = Names(), listed_names.read()
    folder = ROOT / "src" / "torchada" / "building" / "cuda_include"
    marks = " ".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.h"))
    there = {"device": declared(), "NVTX": frozenset(_IDENTIFIER.findall(marks))}
    for title, names in sections.items():
        for name in names:
            answer = rules.identifier(name)
            if answer is not None and answer.name not in (None, name):
                yield Name(name, answer.library, str(answer.name), TRANSLATED)
            else:
                library = "device code" if title == "device" else title
                yield Name(name, library, name, KEPT if name in there.get(title, ()) else STAYS)


@cache
def functions() -> frozenset[str]:
    """The functions of the runtime and of the driver: those that CUPTI can trace."""
    return frozenset(match[1] for name in vendors() if (match := _CALLED.fullmatch(name)) is not None)


def page(every: Sequence[Name]) -> str:
    """The text of the page."""
    shown = [entry for entry in every if is_function(entry) or _is_listed(entry)]
    titles = sorted({entry.library for entry in every})
    rows = [_row(title, [entry for entry in every if entry.library == title]) for title in titles]
    head = f"| library | names | {' | '.join(_FATES)} |\n|---|---|{'---|' * len(_FATES)}\n"
    parts = [_HEAD, head + "\n".join(rows) + "\n", "## Functions\n"]
    for title in titles:
        own = [entry for entry in shown if entry.library == title]
        parts += [f"### {title}\n", *_lists(own)] if own else []
    return "\n".join(parts)


def is_function(entry: Name) -> bool:
    """Whether the page lists a name with the functions: of a library, those that begin as its functions do."""
    return entry.name in functions() or _FUNCTION.fullmatch(entry.name) is not None


def _is_listed(entry: Name) -> bool:
    return entry.fate in (KEPT, STAYS) or entry.library == "cuFile"


def _row(title: str, entries: Sequence[Name]) -> str:
    counts = [sum(entry.fate == fate for entry in entries) for fate in _FATES]
    return "| " + " | ".join(map(str, [title, len(entries), *counts])) + " |"


def _lists(entries: Sequence[Name]) -> Iterator[str]:
    for fate in _FATES:
        own = [f"`{entry.name}`" for entry in entries if entry.fate == fate]
        if own:
            yield f"{fate.capitalize()} ({len(own)}): {', '.join(own)}.\n"


def main(arguments: Sequence[str]) -> int:
    """Act on the command line; returns the exit code."""
    every = [*names(), *others()]
    if "--tsv" in arguments:
        print("\n".join("\t".join(entry) for entry in every))
        return 0
    text = page(every)
    if "--check" in arguments:
        return int(not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
