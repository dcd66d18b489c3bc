"""Write docs/reference/platforms.md: what torchada's backends are called, and what the core suites do on each.

python -m scripts.platforms_page [--check] [--run PLATFORM ...]

With --run, the suites are run on these platforms first, and their figures in docs/core-suites.json are replaced; with --check,
only report whether the page is up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE, FIGURES = ROOT / "docs" / "reference" / "platforms.md", ROOT / "docs" / "core-suites.json"
# The order in the tables, and what each was run on.
RUN = {
    "musa": "the simulator; never on hardware",
    "npu": "the simulator with the names of torch_npu (`MUSASIM_FACE=npu`); never with torch_npu, nor on hardware",
    "mlu": "the simulator with the names of torch_mlu (`MUSASIM_FACE=mlu`); never with torch_mlu, nor on hardware",
    "xpu": "PyTorch's own `torch.xpu` with stand-ins for its functions; never on hardware",
    "mps": "PyTorch's own `torch.mps` with stand-ins for its functions; never on hardware",
    "host": "the CPU, which it is for",
}
SOURCES = {
    "musa": "[torch_musa](https://github.com/MooreThreads/torch_musa) 2.7.1",
    "npu": "[Ascend/pytorch](https://github.com/Ascend/pytorch), August 2026",
    "mlu": "[Cambricon/torch_mlu](https://github.com/Cambricon/torch_mlu), September 2024",
    "xpu": "`torch/xpu` of PyTorch 2.13",
    "mps": "`torch/mps` of PyTorch 2.13",
    "host": "torchada's own",
}
LACKS = {
    "musa": "",
    "npu": "building of extensions, C libraries by CUDA's names, a management library, `torch.cuda.CudaError`, architectures",
    "mlu": "as npu, and memory pools, pluggable allocators, `torch.cuda.cudart`",
    "xpu": "as npu, and what torch.xpu lacks",
    "mps": "a second device, streams, graphs, collectives, peers, statistics of memory, properties",
    "host": "memory pools, pluggable allocators, C libraries, extensions, Triton",
}
BEGIN = """# Platforms

torchada was made for Moore Threads' GPUs, and its engine takes others: a backend is a value that names an adapter,
and [extending.md](../extending.md) shows how to bring one. These are torchada's own.
`python -m scripts.platforms_page` makes this page from their descriptors (`src/torchada/backends`), and from figures
that `--run` takes.

Which is taken is decided by `TORCHADA_PLATFORM`, then by which adapter is installed: torch_musa, torch_npu,
torch_mlu, in this order, with a warning that names both where there are two. `host`, `xpu` and `mps` have to be asked
for by name, because every machine has their adapter. GPUs of AMD need nothing: torch for ROCm calls them cuda itself,
and torchada leaves it alone.

## Names

"""
SUITES = """
## Core suites

The same tests on each platform, with its names in the place of musa's (`tests/support/core_suites.py`), under the
mechanism that is chosen by itself. A cell says how many tests pass; after a plus, how many do not apply to this
platform. Each of those has its reason below, and has to fail. An empty cell: not run in this way yet. On musa, the
suites are a part of the tests that every change has to pass; `--run musa` adds its column.

"""
LIBRARIES = """
### Libraries on the host

These programs of `tests/areas/libraries` were run on the host too (`torchada run --on cpu`, two devices), and gave the
CPU's numbers, on cuda:0 as the program sees it: ignite, tensordict (graphs replayed), PyTorch Geometric, GPyTorch,
fairscale (`Pipe` over two devices), bitsandbytes, timm, fastai, nnU-Net, open_clip, nanoGPT's shape, transformers (a
Llama), accelerate and lightning. [Libraries that were tried](third-party.md) has their versions.
"""
FACES = """
## What a face of the simulator does not show

`TORCHADA_SIMULATE=1 MUSASIM_FACE=npu` (or `mlu`) lets the simulator answer to the names of another vendor's adapter:
package, module, classes, functions, communication backend, variable of visible devices. Names that the vendor's
sources do not have are taken away. All the rest is torch_musa's: which operators exist, in which types, how fast and
how exactly, texts of errors, limits, formats of tensors (NPU's private formats), initialization, and the order in
which the vendor's package changes torch. Nothing that torch_npu or torch_mlu replaces in torch is there. So the face
shows that torchada's areas name no backend, and that a lack in a namespace is met; it does not show that a program
runs on Ascend or Cambricon hardware.
"""


def page(figures: Mapping[str, Any]) -> str:
    """The text of the page."""
    return BEGIN + _names() + SUITES + _suites(figures) + _reasons() + LIBRARIES + FACES


def _names() -> str:
    from torchada.backends.select import find
    from torchada.base.adapters import ADAPTERS

    rows = [["platform", "device", "adapter", "collectives", "dispatch key", "visible devices", "allocator's settings"]]
    more = [["platform", "names from", "run on", "lacks"]]
    for name in RUN:
        backend = find(name)
        assert backend is not None
        allocator = backend.allocator.variable if backend.allocator else ""
        chosen = "" if name in ADAPTERS else ", by name"
        cells = [
            f"{name}{chosen}",
            f"`{backend.device_type}`" + (f", a name for `{backend.computes_on}`" if backend.computes_on else ""),
            f"`{backend.adapter}`",
            backend.collectives.names.get("nccl", ""),
            backend.names.dispatch_key,
            _code(backend.visible_devices),
            _code(allocator),
        ]
        rows.append(cells)
        more.append([name, SOURCES[name], RUN[name], LACKS[name]])
    return f"{_table(rows)}\n{_table(more)}"


def _suites(figures: Mapping[str, Any]) -> str:
    platforms = [name for name in RUN if name in figures]
    suites = dict.fromkeys(suite for platform in platforms for suite in figures[platform])
    rows = [["suite", *platforms]]
    for suite in suites:
        rows.append([suite, *(_cell(figures[platform].get(suite)) for platform in platforms)])
    return _table(rows)


def _cell(result: Mapping[str, int] | None) -> str:
    if result is None:
        return ""
    return f"{result['passed']}" + (f" + {result['not_applicable']}" if result["not_applicable"] else "")


def _reasons() -> str:
    text = ["\n### What does not apply\n"]
    for platform in ("npu", "mlu", "host"):
        reasons: dict[str, list[str]] = {}
        for test, why in _exceptions(platform).items():
            reasons.setdefault(why, []).append(test)
        rows = [
            [platform, "tests"],
            *([why, ", ".join(f"`{test}`" for test in tests)] for why, tests in reasons.items()),
        ]
        text.append(_table(rows))
    return "\n".join(text)


def _exceptions(platform: str) -> dict[str, str]:
    sys.path.insert(0, str(ROOT / "tests"))
    from support.core_suites import exceptions

    return exceptions(platform)


def _code(word: str) -> str:
    return f"`{word}`" if word else ""


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def take(platform: str) -> dict[str, dict[str, int]]:
    """Run the suites on a platform. Raises RuntimeError where a test fails that should not, or passes that should not."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.core_suites import run

    with tempfile.TemporaryDirectory() as folder:
        results = run(platform, Path(folder))
    wrong = [test for result in results.values() for test in (*result.failed, *result.stale)]
    if wrong:
        raise RuntimeError(f"{platform}: {', '.join(wrong)}")
    return {
        name: {"passed": result.passed, "not_applicable": len(result.not_applicable)}
        for name, result in results.items()
    }


def written(figures: Mapping[str, Any]) -> str:
    """The text of docs/core-suites.json: a line for each suite."""
    platforms = [
        f' "{platform}": {{\n'
        + ",\n".join(f'  "{suite}": {json.dumps(counts)}' for suite, counts in suites.items())
        + "\n }"
        for platform, suites in figures.items()
    ]
    return "{\n" + ",\n".join(platforms) + "\n}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where the page is up to date or written, 1 where --check finds that it is not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only report whether the page is up to date")
    parser.add_argument(
        "--run", nargs="+", default=[], metavar="PLATFORM", help="run the suites on these platforms first"
    )
    options = parser.parse_args(arguments)
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for platform in options.run:
        figures[platform] = take(platform)
        FIGURES.write_text(written(figures), encoding="utf-8")
    text = page(figures)
    if options.check:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
