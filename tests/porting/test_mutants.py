"""Whatever becomes of a real source, the porter ends in time, moves no line, and says where its findings are."""

from __future__ import annotations

import pytest

from support.source_fuzz import fault, mutant, of_torch

pytestmark = [pytest.mark.once, pytest.mark.full]


def test_mutants_of_pytorchs_sources_are_ported() -> None:
    sources = of_torch()
    assert [wrong for seed in range(300) if (wrong := fault("port", mutant(sources, seed)))] == []
