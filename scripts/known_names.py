"""Makes src/torchada/porting/known_names.txt: which names of CUDA's a table of the vendor's knows, and which none does.

    python scripts/known_names.py HIPIFY    # a checkout of ROCm/HIPIFY, whose tables list CUDA's names up to its newest release

The vendor's names are those of tests/porting/symbols.json.xz. CUPTI's have the runtime's and the driver's functions in them
(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060), which tells of functions that the tables themselves lack.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from torchada.porting.names import Names
from torchada.porting.symbols import FILE, folded

ROOT = Path(__file__).resolve().parents[1]
_QUOTED = re.compile(r'\{\s*"([A-Za-z_]\w+)"')
_TRACED = re.compile(r"CUPTI_(?:RUNTIME|DRIVER)_TRACE_CBID_(\w+?)(?:_ptsz|_ptds)?(?:_v\d+)?(?:_ptsz|_ptds)?")


def vendors() -> set[str]:
    """The names that tables of the vendor's know."""
    tables = json.loads(lzma.decompress((ROOT / "tests/porting/symbols.json.xz").read_bytes()))["groups"]
    names = {name for group, table in tables.items() if group not in ("headers", "build_libs") for name in table}
    return names | {match[1] for name in names if (match := _TRACED.fullmatch(name)) is not None}


def cudas(hipify: Path) -> set[str]:
    """The names of CUDA's own that HIPIFY's tables list."""
    files = sorted((hipify / "src").glob("CUDA2HIP_*.cpp"))
    if not files:
        raise SystemExit(f"{hipify}: no checkout of ROCm/HIPIFY, it has no src/CUDA2HIP_*.cpp")
    return {name for file in files for name in _QUOTED.findall(file.read_text(encoding="utf-8"))}


def closed(names: Iterable[str]) -> list[str]:
    """Those of libraries whose names the porter looks up."""
    libraries = [library for library in Names().libraries if library.is_closed]
    patterns = [re.compile("|".join(library.names)) for library in libraries]
    return sorted(name for name in names if any(pattern.fullmatch(name) for pattern in patterns))


def main(hipify: str) -> None:
    known = vendors()
    sections = [closed(known), closed(cudas(Path(hipify)) - known)]
    FILE.write_text("\n\n".join(map(folded, sections)) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(sections[0])} names that the vendor's tables know, {len(sections[1])} that none does")


if __name__ == "__main__":
    main(sys.argv[1])
