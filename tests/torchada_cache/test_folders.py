"""Which folders are taken for private, level by level."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from _torchada_cache import folders
from _torchada_cache.errors import UnsafeError
from _torchada_cache.folders import make_private


def test_missing_levels_are_made_for_the_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    for folder in ("a", "a/b", "a/b/c"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700
    make_private(tmp_path / "a" / "b" / "c")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(mode)
    with pytest.raises(UnsafeError, match=r"cache can be written to by others; run `chmod go-w"):
        make_private(tmp_path / "cache")


@pytest.mark.parametrize(("mode", "is_safe"), [(0o777, False), (0o703, False), (0o1777, True), (0o755, True)])
def test_parents_that_others_can_write_to_must_be_sticky(tmp_path: Path, mode: int, is_safe: bool) -> None:
    (tmp_path / "parent").mkdir()
    (tmp_path / "parent").chmod(mode)
    if is_safe:
        make_private(tmp_path / "parent" / "cache")
    else:
        with pytest.raises(UnsafeError, match="parent can be written to by others"):
            make_private(tmp_path / "parent" / "cache")
        assert not (tmp_path / "parent" / "cache").exists()


@pytest.mark.parametrize("is_own", [True, False])
def test_a_parent_open_to_a_group_is_safe_where_the_group_is_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_own: bool
) -> None:
    (tmp_path / "parent").mkdir()
    (tmp_path / "parent").chmod(0o775)
    monkeypatch.setattr(folders, "_is_own_group", lambda number: is_own)
    if is_own:
        make_private(tmp_path / "parent" / "cache")
    else:
        with pytest.raises(UnsafeError, match="parent can be written to by others"):
            make_private(tmp_path / "parent" / "cache")


@pytest.mark.parametrize(
    ("name", "members", "is_own"),
    [("me", [], True), ("me", ["me"], True), ("me", ["me", "you"], False), ("us", [], False)],
)
def test_a_group_is_the_users_own_by_its_name_and_members(
    monkeypatch: pytest.MonkeyPatch, name: str, members: list[str], is_own: bool
) -> None:
    monkeypatch.setattr(folders.grp, "getgrgid", lambda number: SimpleNamespace(gr_name=name, gr_mem=members))
    monkeypatch.setattr(pwd, "getpwuid", lambda number: SimpleNamespace(pw_name="me"))
    assert folders._is_own_group(54321) is is_own


def test_the_folder_of_another_user_is_refused(tmp_path: Path, give_away: Callable[[Path], None]) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    give_away(tmp_path / "cache")
    with pytest.raises(UnsafeError, match="belongs to another user"):
        make_private(tmp_path / "cache")


def test_a_parent_of_another_user_is_refused(tmp_path: Path, give_away: Callable[[Path], None]) -> None:
    (tmp_path / "parent" / "cache").mkdir(mode=0o700, parents=True)
    give_away(tmp_path / "parent")
    with pytest.raises(UnsafeError, match="belongs to another user"):
        make_private(tmp_path / "parent" / "cache")


def test_a_link_that_another_user_has_planted_is_not_followed(
    tmp_path: Path, give_away: Callable[[Path], None]
) -> None:
    """In a folder such as /tmp, where everybody may, and to a folder that is itself without fault."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "open" / "cache").symlink_to(tmp_path / "own")
    give_away(tmp_path / "open" / "cache")
    with pytest.raises(UnsafeError, match="belongs to another user"):
        make_private(tmp_path / "open" / "cache")


def test_a_link_of_the_user_is_followed_to_what_is_private(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to("disk")
    make_private(tmp_path / "cache" / "program")
    assert (tmp_path / "disk" / "program").is_dir()
    (tmp_path / "disk").chmod(0o777)
    with pytest.raises(UnsafeError, match="disk can be written to by others"):
        make_private(tmp_path / "cache" / "program")


def test_a_parent_is_that_of_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    make_private(tmp_path / "link" / ".." / "cache")
    assert (tmp_path / "a" / "cache").is_dir()


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        make_private(tmp_path / "a")


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_private(tmp_path / "file" / "cache")


@pytest.mark.parametrize(
    ("ranges", "is_trusted"),
    [("1000 1000 1\n", True), ("0 0 4294967295\n", False), ("0 1000 1\n1 100000 65536\n", False), ("nothing", False)],
)
def test_the_owner_that_stands_for_all_outside_a_container_is_trusted(
    monkeypatch: pytest.MonkeyPatch, ranges: str, is_trusted: bool
) -> None:
    """Unless a process of the container can be that user."""
    texts = {"/proc/sys/kernel/overflowuid": "65534\n", "/proc/self/uid_map": ranges}
    monkeypatch.setattr(Path, "read_text", lambda self: texts[str(self)])
    assert folders.is_trusted(65534) is is_trusted
    assert not folders.is_trusted(54321)
