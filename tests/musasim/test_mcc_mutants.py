"""Whatever becomes of a real source, mcc's rewriting ends in time, moves no line, and refuses what it cannot read with an error."""

from __future__ import annotations

import pytest

from musasim.toolkit.compiler.rewrite import RewriteError, rewrite
from support.source_fuzz import fault, mutant, of_torch

pytestmark = pytest.mark.once


@pytest.mark.full
def test_mutants_of_pytorchs_sources_are_rewritten_or_refused() -> None:
    sources = of_torch()
    assert [wrong for seed in range(300) if (wrong := fault("mcc", mutant(sources, seed)))] == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("__global__() {}", "'__global__' attribute only applies to functions"),
        ("__launch_bounds__() __global__ void k() {}", "'__launch_bounds__' attribute takes at least 1 argument"),
        ("__global__ void k(int a, , int b) {}", "expected a type for each parameter of kernel function 'k'"),
        ("__global__ void k(= 3) {}", "expected a type for each parameter of kernel function 'k'"),
        ("__shared__ alignas int x;", "expected '(' and ')' after 'alignas'"),
    ],
)
def test_what_is_incomplete_is_refused_with_its_place(text: str, error: str) -> None:
    with pytest.raises(RewriteError) as refused:
        rewrite(f"\n{text}\n", "22")
    assert str(refused.value) == f"<input>:2: error: {error}"
