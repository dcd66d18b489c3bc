"""MUSASIM_RELEASE: which release of torch_musa is simulated, and what follows it."""

from __future__ import annotations

import pytest

from musasim.base import release
from musasim.errors import MusasimReleaseError
from support.fresh_process import run

pytestmark = pytest.mark.once

IMPORT = "import torch, torch_musa\n"


@pytest.mark.parametrize(("name", "expected"), [("", (2, 7, 1)), ("2.9.1", (2, 9, 1)), ("2.11.0", (2, 11, 0))])
def test_the_variable_names_the_release(monkeypatch: pytest.MonkeyPatch, name: str, expected: tuple[int, ...]) -> None:
    monkeypatch.setenv("MUSASIM_RELEASE", name)
    assert release.chosen() == expected


def test_an_unknown_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSASIM_RELEASE", "2.8.0")
    with pytest.raises(MusasimReleaseError, match=r"MUSASIM_RELEASE='2.8.0': expected 2.7.1, 2.9.1 or 2.11.0"):
        release.chosen()


def test_an_unknown_release_is_refused_before_torch_is_changed() -> None:
    run(
        """
        import torch
        try:
            import torch_musa
        except ImportError as error:
            assert "MUSASIM_RELEASE='3': expected 2.7.1, 2.9.1 or 2.11.0" in str(error)
        else:
            raise SystemExit("a release that is not known was taken")
        assert torch._C._get_privateuse1_backend_name() == "privateuseone" and not hasattr(torch, "musa")
        """,
        MUSASIM_RELEASE="3",
    )


def test_2_7_1_has_one_switch_for_tf32() -> None:
    run(
        f"{IMPORT}assert not hasattr(torch.backends, 'musa') and not hasattr(torch.musa, 'matmul')\n"
        "assert not hasattr(torch_musa._MUSAC, '_get_mublas_allow_tf32') and torch.backends.mudnn.allow_tf32"
    )


SWITCH = """
matmul, native = torch.backends.musa.matmul, torch_musa._MUSAC
assert matmul is torch.musa.matmul is torch_musa.core.musa.matmul and torch.backends.musa is torch_musa.core.musa
assert type(matmul) is torch.musa.muBLASModule and torch.backends.mudnn.allow_tf32
assert matmul.allow_tf32 is native._get_mublas_allow_tf32() is STARTS
for allow in (True, False):
    matmul.allow_tf32 = allow
    assert matmul.allow_tf32 is native._get_mublas_allow_tf32() is allow and torch.backends.mudnn.allow_tf32
for change in (lambda: setattr(matmul, "allow_tf32", 1), lambda: setattr(matmul, "other", True), lambda: matmul.other):
    try:
        change()
    except (RuntimeError, AttributeError) as error:
        assert "expects a bool" in str(error) or "Unknown attribute other" in str(error)
    else:
        raise SystemExit("a wrong name or value was taken")
"""


@pytest.mark.parametrize("name", ["2.9.1", "2.11.0"])
def test_newer_releases_have_a_switch_for_matrix_products(name: str) -> None:
    run(IMPORT + SWITCH.replace("STARTS", "False"), MUSASIM_RELEASE=name)


def test_the_variable_of_newer_releases_allows_tf32() -> None:
    env = {"MUSASIM_RELEASE": "2.9.1", "TORCH_ALLOW_TF32_MUBLAS_OVERRIDE": "1"}
    run(IMPORT + SWITCH.replace("STARTS", "True"), **env)
