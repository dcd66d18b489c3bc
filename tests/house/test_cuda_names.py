"""docs/reference/cuda-names.md says what becomes of each function of CUDA's, as the porter and the simulated toolkit are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from musasim.toolkit.home import home

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from scripts import cuda_names as module  # noqa: E402

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def every() -> list[module.Name]:
    return [*module.names(), *module.others()]


def test_the_page_is_up_to_date(every: list[module.Name]) -> None:
    """`python -m scripts.cuda_names` writes it."""
    assert module.page(every) == module.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "fate", "answer"),
    [
        ("cudaMalloc", module.SIMULATED, "musaMalloc"),
        ("cublasSgemm", module.SIMULATED, "mublasSgemm"),
        ("cudaBindTexture2D", module.SIMULATED, "musaBindTexture2D"),
        ("cudaBindTextureToMipmappedArray", module.TRANSLATED, "musaBindTextureToMipmappedArray"),
        ("cuMemPoolCreate", module.SIMULATED, "muMemPoolCreate"),
        ("cudaMemPoolExportPointer", module.TRANSLATED, "musaMemPoolExportPointer"),
        ("cuFileRead", module.TRANSLATED, "muFileRead"),
        ("nvtxRangePushA", module.KEPT, "nvtxRangePushA"),
        ("__shfl_xor_sync", module.KEPT, "__shfl_xor_sync"),
        ("cuTensorMapEncodeTiled", module.REPORTED, "tensor maps serve the TMA"),
    ],
)
def test_names_whose_fate_is_known(every: list[module.Name], name: str, fate: str, answer: str) -> None:
    """cublasSgemm is declared by a macro that puts its name together."""
    (entry,) = (entry for entry in every if entry.name == name)
    assert entry.fate == fate and entry.answer.startswith(answer)


def test_what_is_said_to_be_simulated_can_be_called(every: list[module.Name]) -> None:
    """A declaration alone makes a name one of the headers'. A library has it as well, or a header has its body or is all of it."""
    exported = {line.split()[-1] for file in (home() / "lib").glob("*.so") for line in symbols(file)}
    headers = [
        path.read_text(encoding="utf-8", errors="replace") for path in (home() / "include").rglob("*") if path.is_file()
    ]
    text = "\n".join(headers)
    shown = [entry for entry in every if entry.fate == module.SIMULATED and module.is_function(entry)]
    missing = [entry.answer for entry in shown if entry.answer not in exported and not is_complete(entry.answer, text)]
    assert len(shown) > 500 and missing == []


def symbols(library: Path) -> list[str]:
    """The lines of nm about what a library exports."""
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line]


def is_complete(name: str, headers: str) -> bool:
    """Whether the headers have the body of a function of this name, or a type or a macro."""
    name = re.escape(name)
    body = rf"\b{name}\s*\([^;{{}}]*\)\s*{{"
    declared = (
        rf"#\s*define\s+{name}\b|\b(?:struct|enum|using|class)\s+{name}\b|}}\s*{name};|\btypedef\b[^;{{]*\b{name};"
    )
    return re.search(f"{body}|{declared}", headers) is not None
