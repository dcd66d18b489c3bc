"""What the first question of a package costs: its sources are searched, and later processes remember what was found.

    python benchmarks/views.py [--folder FOLDER ...] [--rounds N]

Without --folder, a package of 10 MB in 500 files is made. Times are of the processor, with the files in memory; the shortest and
the median of the rounds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import torchada.base.caches  # noqa: F401  (its import is measured by benchmarks/startup.py)
from torchada.views import source_cache, sources

_FILES, _SIZE = 500, 20_000


def main() -> None:
    """Measure each package, and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--folder", action="append", default=[], help="the folder of a package, such as site-packages/timm"
    )
    parser.add_argument("--rounds", type=int, default=15, help="how often each is measured")
    options = parser.parse_args()
    with _made() as made, tempfile.TemporaryDirectory() as cache:
        for folder in options.folder or [str(made)]:
            _show(folder, options.rounds, cache)


@contextmanager
def _made() -> Iterator[Path]:
    """A package as it is installed, with sources like those of the standard library."""
    text = (Path(argparse.__file__).read_text() * 2)[:_SIZE]
    with tempfile.TemporaryDirectory() as site:
        package = Path(site) / "package"
        for number in range(_FILES):
            folder = package / f"part{number % 20}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"file{number}.py").write_text(text)
        metadata = Path(site) / "package-1.0.dist-info"
        metadata.mkdir()
        (metadata / "RECORD").write_text("package/part0/file0.py,,\n")
        yield package


def _show(folder: str, rounds: int, cache: str) -> None:
    files = list(Path(folder).rglob("*.py"))
    size = sum(file.stat().st_size for file in files)
    source_cache.find((folder,), cache)
    searched = _times(lambda: sources.find((folder,)), rounds)
    known = _times(lambda: source_cache.find((folder,), cache), rounds)
    print(
        f"{Path(folder).name}: {len(files)} files, {size / 1e6:.1f} MB; searched in {min(searched):.1f} ms "
        f"(median {median(searched):.1f}), remembered in {min(known):.2f} ms (median {median(known):.2f})"
    )


def _times(function: Callable[[], object], rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        begun = time.thread_time()
        function()
        times.append((time.thread_time() - begun) * 1e3)
    return times


if __name__ == "__main__":
    main()
