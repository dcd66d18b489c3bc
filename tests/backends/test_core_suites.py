"""The core suites on every platform that can be run here, and the page of platforms."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import platforms_page

from support.core_suites import TESTS, exceptions, run, translated
from support.platforms import ENVIRONMENT

pytestmark = pytest.mark.once


PLATFORMS = [
    pytest.param(name, marks=[pytest.mark.cuda] if name == "cuda" else []) for name in ENVIRONMENT if name != "musa"
]


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_suites_pass_but_for_what_is_listed(tmp_path: Path, platform: str) -> None:
    results = run(platform, tmp_path)
    failed = {test: why for result in results.values() for test, why in result.failed.items()}
    assert not failed, "\n\n".join(f"{test}\n{why}" for test, why in failed.items())
    assert not [test for result in results.values() for test in result.stale]
    assert all(result.passed > 0 for result in results.values())


@pytest.mark.parametrize("platform", ENVIRONMENT)
def test_what_does_not_apply_exists_and_has_a_reason(platform: str) -> None:
    for test, why in exceptions(platform).items():
        file, _, name = test.partition("::")
        text = translated((TESTS / "areas" / file).read_text(encoding="utf-8"), platform)
        assert f"def {name}(" in text, test
        assert len(why) > 20, test


def test_names_are_translated() -> None:
    text = "import torch_musa  # musa:1, MUSA_VISIBLE_DEVICES, mccl, pytest.mark.musa, musasim"
    assert translated(text, "musa") == text
    expected = "import torch_npu  # npu:1, ASCEND_RT_VISIBLE_DEVICES, hccl, pytest.mark.musa, musasim"
    assert translated(text, "npu") == expected


def test_the_page_is_up_to_date() -> None:
    assert platforms_page.main(["--check"]) == 0
