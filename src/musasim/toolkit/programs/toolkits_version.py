"""The simulated musa_toolkits_version: the toolkit's version, as the vendor's tests and benchmarks read it."""

from __future__ import annotations

import json
import sys

from musasim.toolkit.compiler.mcc import VERSION


def main(arguments: list[str]) -> int:
    """Return the exit status, 0 unless there are arguments."""
    if arguments:
        print(f"musa_toolkits_version: it takes no arguments, not {' '.join(arguments)}", file=sys.stderr)
        return 2
    print(f"musa_toolkits:\n{json.dumps({'version': VERSION}, indent=4)}")
    return 0
