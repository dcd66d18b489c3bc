"""Sources that include PyTorch's CUDA headers, ported: do they compile against torch_musa's own headers as on the simulator?

The vendor's headers are made as by its build: its tool (`tools/cuda_porting`, which needs the package pyahocorasick) ports the
headers of the torch that is installed, and those that it has written itself come from the checkout. Toolkit and compiler are the
simulator's for both. Headers are compiled several at a time, and each by itself where some of these do not compile; what the host's
compiler takes on neither side is tried with mcc. The vendor's mcc is a clang: where only torch_musa's headers do not compile, they
are tried once more with `--clang` behind the simulated mcc, if that is given.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from outside.running import Verdict, chosen
from outside.suites import HERE, TESTS

NAME = "headers"
_FOLDERS = ("ATen/cuda", "ATen/native/cuda", "c10/cuda")
_AT_A_TIME = 8
_PREPARE = "import sys; from tools.cuda_porting.cuda_porting import port_cuda; port_cuda(*sys.argv[1:])"


@dataclass(frozen=True)
class _Side:
    """One set of headers."""

    name: str
    folders: list[str]

    def error(self, headers: list[str], folder: Path, on_device: bool, clang: str = "") -> str:
        """The compiler's first message about a ported source that includes `headers`, or "". `clang`: what mcc has behind it."""
        source = folder / ("headers.mu" if on_device else "headers.cpp")
        source.write_bytes(_ported("".join(f"#include <{header}>\n" for header in headers)))
        compiler = [str(_toolkit() / "bin" / "mcc")] if on_device else ["c++"]
        flags = ["-std=c++17", "-fsyntax-only", "-w", *(f"-I{path}" for path in self.folders)]
        environment = {**os.environ, "CXX": clang} if clang else None
        command = [*compiler, *flags, str(source)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        return "" if run.returncode == 0 else _first_message(run.stderr)


def headers() -> list[str]:
    """PyTorch's headers for CUDA that this test is about."""
    found, folder = [], ""
    for line in (TESTS / "porting" / "torch_headers.txt").read_text(encoding="utf-8").splitlines():
        if " -> " in line:
            found.append(line.split(" -> ")[0])
        elif line.startswith("  "):
            found += [f"{folder}/{name}" for name in line.split()]
        elif not line.startswith("#"):
            folder = line
    return sorted(found)


def run(checkout: Path, results: Path, only: str = "", clang: str = "") -> Iterator[tuple[Path, list[Verdict]]]:
    """The verdict for each header, several at a time. `results` keeps them, and the vendor's headers."""
    import torch

    results.mkdir(parents=True, exist_ok=True)
    include = Path(torch.__file__).parent / "include"
    sides = _sides(checkout, results, include)
    record = results / f"{NAME}.jsonl"
    done = {json.loads(line)["test"] for line in record.read_text().splitlines()} if record.exists() else set()
    for group in _groups([header for header in chosen(headers(), only) if header not in done]):
        verdicts = _verdicts(group, sides, include, record, clang)
        yield Path(group[0]), verdicts
        with record.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(vars(each)) + "\n" for each in verdicts)


def _groups(names: list[str]) -> Iterator[list[str]]:
    for suffix in (".h", ".cuh"):
        alike = [name for name in names if name.endswith(suffix)]
        yield from (alike[i : i + _AT_A_TIME] for i in range(0, len(alike), _AT_A_TIME))


def _verdicts(group: list[str], sides: list[_Side], include: Path, record: Path, clang: str) -> list[Verdict]:
    there = [header for header in group if (include / header).exists()]
    absent = [Verdict(header, "skipped", "this torch has no such header") for header in group if header not in there]
    with tempfile.TemporaryDirectory(dir=record.parent) as name:
        on_device = group[0].endswith(".cuh")
        together = [side.error(there, Path(name), on_device) for side in sides] if there else []
        if not any(together):
            return absent + [Verdict(header, "passed") for header in there]
        return absent + [_verdict(header, sides, Path(name), clang) for header in there]


def _verdict(header: str, sides: list[_Side], folder: Path, clang: str) -> Verdict:
    errors = {side.name: side.error([header], folder, header.endswith(".cuh")) for side in sides}
    if all(errors.values()) and header.endswith(".h"):  # some are for kernels alone
        on_device = {side.name: side.error([header], folder, True) for side in sides}
        errors = errors if all(on_device.values()) else on_device
    real, simulated = sides
    if clang and errors[real.name] and not errors[simulated.name]:
        errors[real.name] = real.error([header], folder, True, clang)
    if not any(errors.values()):
        return Verdict(header, "passed")
    alone = "" if all(errors.values()) else " alone"
    return Verdict(header, "failed", "; ".join(f"{name}{alone}: {error}" for name, error in errors.items() if error))


def _sides(checkout: Path, results: Path, include: Path) -> list[_Side]:
    import musasim
    from musasim.base import torch_headers

    package = Path(musasim.__file__).parent / "torch_musa"
    pytorch = [str(include), str(include / "torch/csrc/api/include")]
    common = [*pytorch, str(_toolkit() / "include"), sysconfig.get_path("include")]
    by_hand = package / "share/generated_cuda_compatible/include"
    simulated = [str(by_hand), str(by_hand / "torch/csrc/api/include"), str(package.parent)]
    vendors = _prepared(checkout, results / "torch_musa_headers", include) / "include"
    real = [str(vendors), str(vendors / "torch/csrc/api/include"), str(HERE / "stand_ins"), str(checkout)]
    return [
        _Side("torch_musa", [*real, *common]),
        _Side("simulator", [*simulated, *torch_headers.folders(), *common]),
    ]


def _prepared(checkout: Path, folder: Path, include: Path) -> Path:
    """The headers that torch_musa's build makes of PyTorch's, in `folder`."""
    if not folder.exists():
        begun = folder.with_suffix(".begun")
        shutil.rmtree(begun, ignore_errors=True)
        (begun / "sources").mkdir(parents=True)
        command = [sys.executable, "-c", _PREPARE, str(begun / "sources"), str(include.parent), str(begun)]
        environment = {**os.environ, "TORCHADA_DISABLE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)
        begun.rename(folder)
    return folder


def _ported(text: str) -> bytes:
    from torchada.porting import port_source

    return port_source(text.encode()).text


def _toolkit() -> Path:
    from musasim import toolkit

    return toolkit.home()


def _first_message(output: str) -> str:
    message = next((line for line in output.splitlines() if "error:" in line), output.strip()[-200:])
    return re.sub(r"^\S*?(?=[\w.]+:\d+)", "", message)[:300]
