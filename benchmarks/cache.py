"""What the check of a private cache's entry costs, before anything in it is loaded: each file is hashed.

    python benchmarks/cache.py [FOLDER ...] [--rounds N]

Without a FOLDER, the entries of the simulator's cache. Times are of the processor, with the files in memory; the shortest and the
median of the rounds. OPENSSL_ia32cap="~0:~0x20000000" in the environment lets OpenSSL do without the instructions for SHA-256 that
an x86 processor has.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from _torchada_cache import manifest
from musasim.base.cache import cache_path


def main() -> None:
    """Measure each entry, and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="an entry of a cache")
    parser.add_argument("--rounds", type=int, default=40, help="how often each is measured")
    options = parser.parse_args()
    for folder in map(Path, options.folders or _entries()):
        _show(folder, options.rounds)


def _entries() -> list[Path]:
    return sorted(path.parent for path in cache_path().glob(f"*/{manifest.NAME}"))


def _show(folder: Path, rounds: int) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    wrong, times = manifest.damage(folder), []
    for _ in range(rounds):
        begun = time.thread_time()
        manifest.damage(folder)
        times.append((time.thread_time() - begun) * 1e3)
    print(
        f"{folder.name}: {len(files)} files, {size / 1e6:.1f} MB; checked in {min(times):.1f} ms (median {median(times):.1f})"
        + (f"; {wrong}" if wrong else "")
    )


if __name__ == "__main__":
    main()
