"""What each byte of a hostile file costs whatever of ours reads it, in processor time, at two sizes.

    python benchmarks/hostile.py [--size BYTES] [--most N]

The readers are those of `torchada check`, the porter, those of manifests and that of the memory checker's reports. The files are
those of the tests that hold that the cost does not grow (test_linear.py of several folders, porting/test_linear_manifest.py). The
dearest N are shown, in nanoseconds for each byte.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(CHECKOUT / "src"), str(CHECKOUT / "tests")]


def _tests(path: str, name: str = "test_linear") -> Any:
    spec = importlib.util.spec_from_file_location(
        path.replace("/", "_") + name, CHECKOUT / "tests" / path / f"{name}.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """The name, the reader and the input of each. Manifests are read in `folder`."""
    porting, check = _tests("porting"), _tests("tools/check")
    yield from ((f"port: {name}", porting.port_source, text) for name, text in porting.TEXTS.items())
    for name, kind, text in check.CASES:
        yield f"{name}: {text}", check.reader(name, kind), check.KINDS[name][1][text]
    ported, cached = _tests("porting", "test_linear_manifest"), _tests("torchada_cache")
    yield from (
        (f"manifest of a port: {name}", partial(ported.read, folder), text) for name, text in ported.TEXTS.items()
    )
    yield from (
        (f"manifest of a cache: {name}", partial(cached.compare, folder), text) for name, text in cached.TEXTS.items()
    )
    reports = _tests("pytest_plugin")
    yield from ((f"memory report: {name}", reports.read, text) for name, text in reports.TEXTS.items())


def nanoseconds(read: Any, data: bytes) -> float:
    times = []
    for _ in range(2):
        started = time.process_time()
        read(data)
        times.append(time.process_time() - started)
    return 1e9 * min(times) / max(len(data), 1)


def main() -> None:
    """Print the dearest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=32 * 1024)
    parser.add_argument("--most", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of damaged manifests
    with tempfile.TemporaryDirectory() as folder:
        costs = [
            (nanoseconds(read, make(8 * options.size)), nanoseconds(read, make(options.size)), name)
            for name, read, make in cases(Path(folder))
        ]
    print(f"{len(costs)} files; nanoseconds for each byte of {options.size:,} bytes and of eight times as many")
    for large, small, name in sorted(costs, reverse=True)[: options.most]:
        print(f"{small:10.0f} {large:10.0f}  {name}")


if __name__ == "__main__":
    main()
