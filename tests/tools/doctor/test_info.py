"""`torchada info`: one screen, without anything private."""

from __future__ import annotations

import getpass
import platform
from pathlib import Path

import pytest
from importlib_metadata import Distribution

from cli.test_schemas import validate
from musasim.base.cache import cache_path
from support.interpreter import Interpreter
from tools.doctor.test_facts import WHOLE
from torchada.backends import select
from torchada.base.adapters import ADAPTERS
from torchada.tools.doctor import Result
from torchada.tools.doctor.collect import _VARIABLES, _origin
from torchada.tools.doctor.facts import Probe
from torchada.tools.doctor.info import document, private

pytestmark = [pytest.mark.once]


def test_the_screen_has_what_an_issue_needs() -> None:
    facts = WHOLE._replace(variables={"TORCHADA_NATIVE": "0", "PYTHONPATH": "/secret", "CUDA_HOME": "/secret"})
    found = document(facts, [Result("a", "warning", "triton", "it is PyPI's"), Result("b", "ok", "torch", "fine")])
    validate(found, "info")
    entries = {each["name"]: each["value"] for each in found["entries"]}
    assert (
        entries["torch"] == "2.7.1"
        and entries["torch_musa"] == "2.7.1+1a2b3c4"
        and entries["devices"] == "8 x MTT S5000"
    )
    assert entries["driver"] == "3.3.4" and entries["MUSA SDK"] == "4.3.4" and entries["mechanism"].startswith("native")
    assert entries["variables"] == "TORCHADA_NATIVE=0" and entries["problems"] == "triton: it is PyPI's"
    assert "secret" not in str(found)


def test_the_visible_devices_of_each_platform_are_shown() -> None:
    backends = [backend for name in (*ADAPTERS, *select.BY_NAME_ONLY) if (backend := select.find(name))]
    names = {backend.visible_devices for backend in backends} - {""}
    assert "HOST_VISIBLE_DEVICES" in names and not [name for name in names if not _VARIABLES.fullmatch(name)]
    entries = document(WHOLE._replace(variables=dict.fromkeys(names, "1")), [])["entries"]
    assert {"name": "variables", "value": "\n".join(f"{name}=1" for name in names)} in entries


def test_what_cannot_be_imported_is_said() -> None:
    broken = {"installed": True, "error": "ImportError: x", "cause": "ImportError: libmusa.so"}
    facts = WHOLE._replace(torch=Probe({}, "OSError: y"), adapter=Probe(broken), status=Probe({}, "not asked"))
    entries = {each["name"]: each["value"] for each in document(facts, [])["entries"]}
    assert entries["torch"] == "cannot be imported: OSError: y"
    assert entries["torch_musa"] == "cannot be imported: ImportError: libmusa.so"
    assert entries["platform"] == "not asked" and "mechanism" not in entries


DIRECT = {
    '{"url": "file:///home/me/torchada", "dir_info": {"editable": true}}': (
        "editable, /home/me/torchada",
        "0.2.0 (editable)",
    ),
    '{"url": "https://h/r.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}': (
        "https://h/r.git@abc",
        "0.2.0 (https://h/r.git@abc)",
    ),
    '{"url": "file:///wheels/a.whl", "archive_info": {}}': ("/wheels/a.whl", "0.2.0 (from a file)"),
    "": ("", "0.2.0"),
    "[": ("", "0.2.0"),
}


@pytest.mark.parametrize("text", DIRECT)
def test_what_was_installed_from_elsewhere_than_an_index_says_so(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "torchada-0.2.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: torchada\nVersion: 0.2.0\n")
    if text:
        (folder / "direct_url.json").write_text(text)
    origin, shown = DIRECT[text]
    assert _origin(Distribution.at(folder)) == origin
    packages = [package._replace(origin=origin) for package in WHOLE.distributions if package.name == "torchada"]
    entries = {
        each["name"]: each["value"]
        for each in document(WHOLE._replace(torchada="0.2.0", distributions=(*packages,)), [])["entries"]
    }
    assert packages and entries["torchada"] == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/u/me/env/lib", "~/env/lib"),
        ("in /u/me", "in ~"),
        ("/u/mean/env", "/u/mean/env"),
        ("/home/you/x:/Users/they/y", "<home>/x:<home>/y"),
        ("/usr/lib", "/usr/lib"),
    ],
)
def test_homes_are_shortened(monkeypatch: pytest.MonkeyPatch, text: str, shown: str) -> None:
    monkeypatch.setenv("HOME", "/u/me")
    assert private(text) == shown


@pytest.mark.full
@pytest.mark.musa
def test_the_command_names_neither_host_nor_user(musa: Interpreter) -> None:
    # The simulator's build is found where it is, and not made again for that home.
    env = {"HOME": "/home/somebody-private", "MUSASIM_CACHE_DIR": str(cache_path())}
    out = musa.run(["-m", "torchada", "info"], env=env).stdout
    assert "(simulated)" in out and len(out.splitlines()) <= 40
    named = {platform.node(), "somebody-private"} | ({getpass.getuser()} - {"root"})
    assert not [each for each in named if each in out]


def test_values_that_may_be_private_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "alice")
    variables = {
        "TORCHADA_CACHE_DIR": "/scratch/alice/cache",
        "TORCHADA_API_TOKEN": "SECRET",
        "PYTORCH_HUB_TOKEN": "SECRET",
        "MUSASIM_PASSWORD": "SECRET",
        "MUSA_HOME": "/usr/local/musa",
        "MUSASIM_DEVICE_COUNT": "3",
    }
    results = [
        Result(
            "variable-not-understood", "warning", "variables", "TORCHADA_NATIVE='SECRET' is not understood, and ignored"
        ),
        Result("other", "warning", "torch", "the file of alice in /data/alice/x, not alice2"),
    ]
    screen = document(WHOLE._replace(variables=variables), results)
    entries = {entry["name"]: entry["value"] for entry in screen["entries"]}
    assert "SECRET" not in str(screen)
    assert entries["variables"].splitlines() == [
        "TORCHADA_CACHE_DIR=(set)",
        "MUSA_HOME=/usr/local/musa",
        "MUSASIM_DEVICE_COUNT=3",
    ]
    assert entries["problems"].splitlines() == [
        "variables: TORCHADA_NATIVE is not understood, and ignored",
        "torch: the file of <user> in /data/<user>/x, not alice2",
    ]
