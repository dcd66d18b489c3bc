"""The contents of the wheel and of the source distribution, their reproducibility, and the metadata that package indexes show."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import shutil
import sys
import tarfile
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
from packaging.metadata import Metadata

from support.distributions import DIST_INFO, TOP, MakeVenv, build, call, metadata, unpack, wheel_names
from support.interpreter import ROOT
from torchada import __version__

pytestmark = pytest.mark.once


# ---------------------------------------------------------------- the wheel


def test_top_of_the_wheel_has_packages_and_start_up_files(wheel: Path) -> None:
    assert {name.partition("/")[0] for name in wheel_names(wheel)} == TOP


def test_wheel_has_every_source_file_and_nothing_else(wheel: Path, tree: Path) -> None:
    files = {path.relative_to(tree / "src").as_posix() for path in (tree / "src").rglob("*") if path.is_file()}
    expected = {name for name in files if not re.search(r"\.egg-info/|\.(so|pyc|md)$", name)}
    expected |= {"torchada/sitecustomize/sitecustomize.py", "torchada-init.pth", "torchada-init.start"}
    found = {name for name in wheel_names(wheel) if not name.startswith(DIST_INFO)}
    assert expected - found == set()
    assert {name for name in found - expected if not name.endswith((".so", ".md"))} == set()


def test_wheel_has_no_name_twice(wheel: Path) -> None:
    assert len(wheel_names(wheel)) == len(set(wheel_names(wheel)))


def test_start_up_files_of_the_wheel_are_those_of_the_tree(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in ("torchada-init.pth", "torchada-init.start"):
            assert archive.read(name) == (ROOT / "sitecustomize" / name).read_bytes()
            assert archive.getinfo(name).external_attr >> 16 & 0o444 == 0o444, "readable for everybody"


def test_record_of_the_wheel_is_complete(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        record = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(f"{DIST_INFO}/RECORD").decode()))}
        assert record.keys() == set(archive.namelist())
        assert record.pop(f"{DIST_INFO}/RECORD") == ["", ""]
        for name, (digest, size) in record.items():
            data = archive.read(name)
            computed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={computed}", len(data)), name


@pytest.mark.full
def test_pure_wheel_installs_anywhere_and_status_says_what_is_missing(
    tree: Path, make_venv: MakeVenv, tmp_path: Path
) -> None:
    build(_copy(tree, tmp_path / "tree"), tmp_path, "--wheel", "--config-setting", "pure=true")
    (built,) = tmp_path.glob("*.whl")
    assert built.name == f"torchada-{__version__}-py3-none-any.whl"
    assert not [name for name in wheel_names(built) if name.endswith(".so")]
    with zipfile.ZipFile(built) as archive:
        assert "Root-Is-Purelib: true" in archive.read(f"{DIST_INFO}/WHEEL").decode()
    made = make_venv()
    made.install(str(built))
    made.show_the_tests_packages()
    status = made.run("-m", "torchada.hooks", "status", "--probe", env={"TORCHADA_SIMULATE": "1"})
    assert "portable: its extension was not built" in status


def test_an_unknown_value_of_the_setting_pure_is_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="'pure' is true or false, not 'perhaps'"):
        build(tree, tmp_path, "--wheel", "--config-setting", "pure=perhaps")


# ---------------------------------------------------------------- the source distribution


@pytest.mark.full
def test_source_distribution_has_every_file_of_the_tree(tree: Path, sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        found = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    ours = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}
    left_by_builds = {name for name in ours if re.match(r"build/|.*(\.egg-info/|\.so$|\.pyc$)", name)}
    assert ours - left_by_builds - found == set()
    assert {name for name in found - ours if ".egg-info/" not in name} == {"PKG-INFO", "setup.cfg"}


@pytest.mark.slow
@pytest.mark.musa
def test_tests_of_the_source_distribution_run_from_where_it_is_unpacked(
    sdist: Path, wheel: Path, make_venv: MakeVenv, tmp_path: Path
) -> None:
    """Settings, the engine and one area, with the torchada of the wheel: the sources beside the tests are not on the path."""
    folder = unpack(sdist, tmp_path)
    made = make_venv()
    made.install(str(wheel))
    made.show_the_tests_packages()
    wanted = ("base/test_settings.py", "redirect/test_engine.py", "tensors/test_random.py")
    chosen = [str(path.relative_to(folder)) for path in folder.glob("tests/**/test_*.py") if str(path).endswith(wanted)]
    assert len(chosen) == len(wanted)
    output = made.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *chosen, cwd=folder)
    assert re.search(r"^\d{2,} passed", output.splitlines()[-1]), output


# ---------------------------------------------------------------- the same bytes


@pytest.mark.slow
def test_archives_built_elsewhere_and_later_have_the_same_bytes(
    tree: Path, wheel: Path, sdist: Path, tmp_path: Path
) -> None:
    """From another folder, with other dates and another umask; this wheel is built from the source distribution."""
    other = _copy(tree, tmp_path / "a folder with a longer name")
    for path in other.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
        path.chmod(path.stat().st_mode & ~0o077)
    target = tmp_path / "built"
    build(other, target, umask=0o077)
    assert {path.name: _digest(path) for path in target.iterdir()} == {
        path.name: _digest(path) for path in (wheel, sdist)
    }


@pytest.mark.full
def test_dates_of_archives_are_those_of_source_date_epoch(
    wheel: Path, sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts" / "build_backend")
    reproducible = import_module("reproducible")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    wheel, sdist = (Path(shutil.copy(archive, tmp_path)) for archive in (wheel, sdist))
    reproducible.rewrite_wheel(wheel, {})
    reproducible.rewrite_sdist(sdist)
    with zipfile.ZipFile(wheel) as archive:
        assert {item.date_time for item in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    with tarfile.open(sdist) as packed:
        assert {member.mtime for member in packed.getmembers()} == {1700000000}


def _copy(tree: Path, target: Path) -> Path:
    return Path(shutil.copytree(tree, target, ignore=shutil.ignore_patterns("build", "*.egg-info", "*.so")))


def _digest(archive: Path) -> str:
    return hashlib.sha256(archive.read_bytes()).hexdigest()


# ---------------------------------------------------------------- the metadata


NEEDED = ["wrapt>=1.16", "packaging>=22", "importlib_metadata>=7.1", 'tomli>=1.1; python_version < "3.11"']


def test_metadata_is_valid_and_complete(wheel: Path) -> None:
    found = Metadata.from_email(metadata(wheel), validate=True)
    assert (found.name, str(found.version), found.license_expression) == ("torchada", __version__, "MIT")
    assert found.author and found.summary and found.license_files == ["LICENSE"]
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= (found.project_urls or {}).keys()
    assert str(found.requires_python) == ">=3.10"
    assert [str(line) for line in found.requires_dist or () if "extra ==" not in str(line)] == NEEDED
    with zipfile.ZipFile(wheel) as archive:
        assert "torchada = torchada.cli:main" in archive.read(f"{DIST_INFO}/entry_points.txt").decode()


def test_classifiers_name_every_minor_version_of_python_from_the_oldest(wheel: Path) -> None:
    found = Metadata.from_email(metadata(wheel), validate=True).classifiers or []
    minors = [int(minor) for minor in re.findall(r"Python :: 3\.(\d+)$", "\n".join(found), re.MULTILINE)]
    assert minors == list(range(10, 10 + len(minors))) and sys.version_info[1] in minors


def test_description_in_the_metadata_has_absolute_links_to_files_that_exist(wheel: Path) -> None:
    description = Metadata.from_email(metadata(wheel), validate=True).description or ""
    targets = re.findall(r"\]\(([^)]+)\)", description)
    repository = "https://github.com/MooreThreads/torchada/blob/main/"
    assert targets and all(target.startswith(("https://", "#")) for target in targets)
    ours = [target.removeprefix(repository).partition("#")[0] for target in targets if target.startswith(repository)]
    assert ours and not [path for path in ours if not (ROOT / path).exists()]


def test_twine_accepts_the_archives(wheel: Path, sdist: Path) -> None:
    pytest.importorskip("twine", reason="twine belongs to the extra dev")
    call([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])
