"""docs/reference/cuda-names.md says what becomes of each function of CUDA's, as the porter and the simulated toolkit are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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
