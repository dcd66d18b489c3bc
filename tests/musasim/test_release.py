"""MUSASIM_RELEASE: which release of torch_musa is simulated, and what follows it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from musasim.base import release
from musasim.errors import MusasimReleaseError
from support.fresh_process import run

pytestmark = pytest.mark.once

IMPORT = "import torch, torch_musa\n"


@pytest.mark.parametrize(("name", "expected"), [("2.7.1", (2, 7, 1)), ("2.9.1", (2, 9, 1)), ("2.11.0", (2, 11, 0))])
def test_the_variable_names_the_release(monkeypatch: pytest.MonkeyPatch, name: str, expected: tuple[int, ...]) -> None:
    monkeypatch.setenv("MUSASIM_RELEASE", name)
    assert release.chosen() == expected


def test_an_unknown_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSASIM_RELEASE", "2.8.0")
    with pytest.raises(MusasimReleaseError, match=r"MUSASIM_RELEASE='2.8.0': expected 2.7.1, 2.9.1 or 2.11.0"):
        release.chosen()


@pytest.mark.parametrize("torch_version", ["2.7.1", "2.10.0+cpu", "2.13.0"])
def test_without_the_variable_the_release_belongs_to_torch(monkeypatch: pytest.MonkeyPatch, torch_version: str) -> None:
    monkeypatch.setenv("MUSASIM_RELEASE", "")
    monkeypatch.setattr("torch.__version__", torch_version)
    assert release.name() == release.belonging_to(torch_version)


def test_torch_is_not_imported_to_learn_its_version() -> None:
    code = """
        import sys
        from importlib.metadata import version
        from musasim.base import release
        assert release.name() == release.belonging_to(version("torch")) and "torch" not in sys.modules
        """
    run(code, install=False)


@pytest.mark.full
def test_the_simulator_tells_the_release_or_what_is_wrong_with_it() -> None:
    command = [sys.executable, "-m", "musasim", "info"]
    for name, line in (("", f"torch_musa:         {release.belonging_to(torch.__version__)}"), ("2.7.1", "2.7.1")):
        told = subprocess.run(command, env={**os.environ, "MUSASIM_RELEASE": name}, capture_output=True, text=True)
        assert line in told.stdout and told.returncode == 0
    failed = subprocess.run(command, env={**os.environ, "MUSASIM_RELEASE": "3"}, capture_output=True, text=True)
    assert (failed.returncode, failed.stderr) == (1, "MUSASIM_RELEASE='3': expected 2.7.1, 2.9.1 or 2.11.0\n")


TABLE = {"2.7.1": "first", "2.11.0": "last"}


@pytest.mark.parametrize(
    ("name", "entry", "past", "future"),
    [
        ("2.7.1", "first", ["2.7.1"], ["2.11.0"]),
        ("2.9.1", "first", ["2.7.1"], ["2.11.0"]),
        ("2.11.0", "last", ["2.7.1", "2.11.0"], []),
    ],
)
def test_a_table_tells_what_a_release_has(
    monkeypatch: pytest.MonkeyPatch, name: str, entry: str, past: list[str], future: list[str]
) -> None:
    monkeypatch.setenv("MUSASIM_RELEASE", name)
    assert release.of(TABLE) == entry
    assert list(release.so_far(TABLE)) == past and list(release.to_come(TABLE)) == future
    assert [known for known in release.VERSIONS if release.since(known)][-1] == name


@pytest.mark.parametrize(
    ("torch_version", "expected"),
    [
        ("2.5.1", "2.7.1"),
        ("2.7.1+cu126", "2.7.1"),
        ("2.8.0", "2.7.1"),
        ("2.9.0", "2.7.1"),
        ("2.9.1+cpu", "2.9.1"),
        ("2.10.0", "2.9.1"),
        ("2.11.0", "2.11.0"),
        ("2.13.0a0+git1234567", "2.11.0"),
        ("3.0.0", "2.11.0"),
    ],
)
def test_a_release_belongs_to_each_torch(torch_version: str, expected: str) -> None:
    assert release.belonging_to(torch_version) == expected


def test_what_is_no_version_of_torch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected a version of torch such as 2\.9\.1, but got 'newest'"):
        release.belonging_to("newest")


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "version"), [("2.7.1", "2.7.1"), ("2.9.1", "2.9.1.post1"), ("2.11.0", "2.11.0.post2")]
)
def test_the_version_follows_the_release(name: str, version: str) -> None:
    run(f"{IMPORT}assert torch_musa.__version__ == '{version}+musasim', torch_musa.__version__", MUSASIM_RELEASE=name)


def test_an_older_torch_is_refused() -> None:
    """The vendor's package refuses a torch that is older than the one it was built for."""
    code = """
        import torch
        torch.__version__ = "2.9.1"
        try:
            import torch_musa
        except RuntimeError as error:
            assert "needs torch 2.11.0 or newer, but this is torch 2.9.1" in str(error), error
        else:
            raise SystemExit("an older torch was taken")
        """
    run(code, MUSASIM_RELEASE="2.11.0")


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
        "assert not hasattr(torch_musa._MUSAC, '_get_mublas_allow_tf32') and torch.backends.mudnn.allow_tf32",
        MUSASIM_RELEASE="2.7.1",
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


@pytest.mark.full
@pytest.mark.parametrize("name", ["2.9.1", "2.11.0"])
def test_newer_releases_have_a_switch_for_matrix_products(name: str) -> None:
    run(IMPORT + SWITCH.replace("STARTS", "False"), MUSASIM_RELEASE=name)


def test_the_variable_of_newer_releases_allows_tf32() -> None:
    env = {"MUSASIM_RELEASE": "2.9.1", "TORCH_ALLOW_TF32_MUBLAS_OVERRIDE": "1"}
    run(IMPORT + SWITCH.replace("STARTS", "True"), **env)
