"""What the section at the end says that a green run means: it depends on what has run and on what was looked at."""

from __future__ import annotations

from collections import Counter

import pytest

from torchada.pytest_plugin import meaning
from torchada.pytest_plugin.record import Record
from torchada.pytest_plugin.request import Request
from torchada.report import fidelity

pytestmark = pytest.mark.once

PLAIN = Request(2, False, "", "")
OPERATORS = Record(operators=Counter({"aten::add": 1}))
KERNELS = Record(kernels=Counter({"blur": 1}))


STREAMS = "missing synchronisation between streams (--cuda-streamcheck)"


def said(request: Request, record: Record, skipped: int = 0) -> dict[str, str]:
    return dict(meaning.of_run(request, record, skipped))


def test_a_run_without_a_gpu_says_nothing_of_cuda() -> None:
    assert said(PLAIN, Record()) == {"shown": meaning.NOTHING}


def test_threads_are_exact_where_kernels_have_run() -> None:
    assert said(PLAIN, OPERATORS)["exact"] == fidelity.WITHOUT_KERNELS
    assert said(PLAIN, KERNELS)["exact"] == fidelity.EXACT


def test_numbers_are_the_cpus_where_operators_have_run() -> None:
    assert said(PLAIN, OPERATORS)["the CPU's"] == fidelity.OF_THE_CPU
    assert "the CPU's" not in said(PLAIN, KERNELS)


def test_what_could_have_been_looked_at_is_named() -> None:
    assert said(PLAIN, OPERATORS)["not looked at"] == STREAMS
    assert "--cuda-memcheck" in said(PLAIN, KERNELS)["not looked at"]
    assert "--cuda-seed=random" in said(PLAIN, KERNELS)["not looked at"]
    checked = Request(2, True, "7", "", streamcheck=True)
    assert "not looked at" not in said(checked, KERNELS)
    unchecked = Record(kernels=KERNELS.kernels, unchecked=["blur.so"])
    assert said(checked, unchecked)["not looked at"] == "what the kernels of blur.so do to memory"


def test_skipped_tests_show_nothing() -> None:
    assert said(PLAIN, OPERATORS, 1)["not looked at"] == f"{STREAMS}; 1 test that was skipped"
    assert said(PLAIN, OPERATORS, 2)["not looked at"] == f"{STREAMS}; 2 tests that were skipped"


def test_a_missing_synchronisation_is_unseen_unless_streams_are_checked() -> None:
    checked = Request(2, False, "", "", streamcheck=True)
    assert "a missing synchronisation stays unseen" in said(PLAIN, OPERATORS)["not simulated"]
    assert "synchronisation" not in said(checked, OPERATORS)["not simulated"]
    assert "not looked at" not in said(checked, OPERATORS)
