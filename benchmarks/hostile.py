"""What each byte of a hostile file costs each reader of `torchada check` and the porter, in processor time, at two sizes.

    python benchmarks/hostile.py [--size BYTES] [--most N]

The files are those of tests/porting/test_linear.py and tests/tools/check/test_linear.py, which hold that the cost does not grow.
The dearest N are shown, in nanoseconds for each byte.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(CHECKOUT / "src"), str(CHECKOUT / "tests")]


def _tests(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), CHECKOUT / "tests" / path / "test_linear.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases() -> Iterator[tuple[str, Any, Any]]:
    """The name, the reader and the input of each."""
    porting, check = _tests("porting"), _tests("tools/check")
    yield from ((f"port: {name}", porting.port_source, text) for name, text in porting.TEXTS.items())
    for name, kind, text in check.CASES:
        yield f"{name}: {text}", check.reader(name, kind), check.KINDS[name][1][text]


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
    costs = [
        (nanoseconds(read, make(8 * options.size)), nanoseconds(read, make(options.size)), name)
        for name, read, make in cases()
    ]
    print(f"{len(costs)} files; nanoseconds for each byte of {options.size:,} bytes and of eight times as many")
    for large, small, name in sorted(costs, reverse=True)[: options.most]:
        print(f"{small:10.0f} {large:10.0f}  {name}")


if __name__ == "__main__":
    main()
