"""Where the caches of a program are."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from _torchada_cache.errors import CacheError
from _torchada_cache.places import cache_path

NOBODY = 4_000_000


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


def place(chosen: str | None = None) -> Path:
    return cache_path("program", "PROGRAM_CACHE_DIR", chosen)


def test_the_variable_comes_before_the_folder_of_caches_and_that_before_home(monkeypatch: pytest.MonkeyPatch) -> None:
    assert place() == Path("/home/me/.cache/program")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert place() == place("") == Path("/caches/program")
    assert place("/chosen") == Path("/chosen")
    assert place("~/chosen") == Path("/home/me/chosen")


def test_a_relative_folder_is_taken_from_the_programs_variable_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A program that runs in a folder of somebody else must not execute what lies there."""
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    assert place() == Path("/home/me/.cache/program")
    monkeypatch.chdir(tmp_path)
    assert place("caches") == tmp_path / "caches"


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_without_a_home_the_list_of_users_is_asked(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert place() == Path(pwd.getpwuid(0).pw_dir, ".cache", "program")


def test_a_user_that_nobody_knows_gets_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: NOBODY)
    with pytest.raises(CacheError, match="set PROGRAM_CACHE_DIR to a folder of your own, or HOME, or XDG_CACHE_HOME"):
        place()
    assert place("/chosen") == Path("/chosen")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert place() == Path("/caches/program")


def test_the_home_of_an_unknown_user_gets_advice() -> None:
    with pytest.raises(CacheError, match=r"PROGRAM_CACHE_DIR=~no_such_user/x: .* absolute path"):
        place("~no_such_user/x")
