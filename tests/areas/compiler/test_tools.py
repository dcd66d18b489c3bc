"""Every row of docs/reference/tools.md: what the page says of it is what is seen, no less and no more."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from support.interpreter import ROOT
from support.tools import page, rows

SHOWN = page.lines(page.PAGE.read_text())
OF_THE_PAGE = torch.__version__.startswith(page.TORCH)
# What the program for musa can do depends on torch_musa, too: 2.7.1 lets nobody trace its questions.
MUSA_OF_THE_PAGE = OF_THE_PAGE and os.environ.get("MUSASIM_RELEASE") in (None, "", page.TORCH_MUSA)
pytestmark = [pytest.mark.musa]


@pytest.fixture(scope="session")
def for_musa(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> dict[str, Any]:
    """The answers of the program for musa, asked for once, whatever the number of pytest's workers."""
    shared = tmp_path_factory.getbasetemp()
    file = (shared if worker_id == "master" else shared.parent) / "tools_for_musa.json"
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            file.write_text(json.dumps(page.run("musa", tmp_path_factory.mktemp("for_musa"))))
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("for_cuda")


def _observed(row: rows.Row, folder: Path, expected: dict[str, Any]) -> tuple[str, Any]:
    """ "yes" or "no", with what was seen."""
    try:
        found = {"answer": rows.answer(row, "cuda", folder)}
    except Exception as error:
        return "no", error
    return page.result(found, expected), (found, expected)


# The rows reach for torch's deprecated corners on purpose.
@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", list(rows.rows()), ids=lambda row: row.id)
def test_a_row(row: rows.Row, folder: Path, for_musa: dict[str, Any]) -> None:
    mechanism = "portable" if os.environ.get("TORCHADA_NATIVE") == "0" else "native"
    if not OF_THE_PAGE and "error" in for_musa[row.id]:
        pytest.skip(f"torch {torch.__version__} refuses the program for musa as well")
    seen, what = _observed(row, folder, for_musa[row.id])
    assert seen == getattr(SHOWN[row.id], mechanism), what
    if MUSA_OF_THE_PAGE:
        assert page.result(for_musa[row.id], {}) == SHOWN[row.id].musa, for_musa[row.id]


def test_the_page_shows_every_row_and_no_other() -> None:
    assert [(line.id, line.text) for line in SHOWN.values()] == [(row.id, text) for row, text in page.described()]


def test_there_is_a_reason_for_what_does_not_work_and_for_nothing_else() -> None:
    missing = {line.id for line in SHOWN.values() if "no" in (line.native, line.portable)}
    assert missing == {line.id for line in SHOWN.values() if line.reason} == set(page.REASONS)


def test_the_native_mechanism_attains_every_row_of_a_program_for_musa() -> None:
    assert not {line.id for line in SHOWN.values() if line.musa == "yes" and line.native == "no"}


@pytest.mark.parametrize("test", sorted(page.ELSEWHERE))
def test_a_test_that_is_named_exists(test: str) -> None:
    path, _, name = test.partition("::")
    assert not name or f"def {name}(" in (ROOT / path).read_text()
