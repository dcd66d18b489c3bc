"""The simulator's variables: each value that is not understood is named in a line, with what was expected."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from musasim.base import settings
from musasim.vendors.face import FACES
from support.interpreter import Interpreter, clean_environment

pytestmark = pytest.mark.once

WRONG = {
    "MUSASIM_DEVICE_COUNT": ("many", "-1", "65", "1e3", "²"),
    "MUSASIM_FACE": ("amd",),
    "MUSASIM_GRAPH_EXECUTABLES": ("few",),
    "MUSASIM_INDUCTOR": ("cuda",),
    "MUSASIM_LEAKCHECK": ("2",),
    "MUSASIM_MEMCHECK": ("maybe",),
    "MUSASIM_MEMORY_BYTES": ("0", "16GB", str(2**63)),
    "MUSASIM_PRECOMPILED_HEADERS": ("x",),
    "MUSASIM_PROTECT": ("-1",),
    "MUSASIM_RELEASE": ("3",),
    "MUSASIM_SEED": ("x", "-1", str(2**63)),
    "MUSASIM_STOCK_TORCH": ("x",),
    "MUSASIM_STREAMCHECK": ("x",),
    "MUSASIM_THREADS": ("0", "1025", "some"),
}
FOLDERS = {"MUSASIM_CACHE_DIR", "MUSASIM_COVERAGE"}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_named_with_what_was_expected(name: str) -> None:
    for text in WRONG[name]:
        assert settings.problems({name: text}) == [f"{name}={text!r}: expected {settings.KINDS[name].expected}"]


def test_every_variable_that_takes_no_folder_has_wrong_values() -> None:
    assert set(WRONG) == set(settings.KINDS) - FOLDERS


def test_right_values_and_empty_ones_are_fine() -> None:
    right = {"DEVICE_COUNT": "0", "FACE": "npu", "MEMCHECK": "On", "SEED": "random", "THREADS": "all", "RELEASE": ""}
    assert settings.problems({f"MUSASIM_{name}": text for name, text in right.items()}) == []
    assert settings.problems({"PATH": "/bin"}) == []


def test_the_faces_are_those_that_there_are() -> None:
    assert all(settings.KINDS["MUSASIM_FACE"].accepts(name) for name in FACES)


def test_a_name_that_is_not_known_is_told_with_one_that_is_like_it() -> None:
    (said,) = settings.problems({"MUSASIM_DEVICES_COUNT": "2"})
    assert said == "MUSASIM_DEVICES_COUNT: the simulator has no such variable; did you mean MUSASIM_DEVICE_COUNT?"
    assert settings.problems({"MUSASIM_QUEUE_DEPTH": "2"}) == [
        "MUSASIM_QUEUE_DEPTH: the simulator has no such variable"
    ]


def test_the_command_refuses_them_with_a_line_for_each() -> None:
    wrong = {"MUSASIM_DEVICE_COUNT": "many", "MUSASIM_PROTECT": "maybe"}
    command = [sys.executable, "-m", "musasim", "key"]
    done = subprocess.run(command, env={**clean_environment(), **wrong}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "MUSASIM_DEVICE_COUNT='many': expected a number from 0 to 64\nMUSASIM_PROTECT='maybe': expected 1 or 0\n"
    )


def test_a_program_goes_on_without_them_and_each_is_named_once(musa: Interpreter) -> None:
    code = """
        import torch
        x = torch.ones(3, device="cuda")
        print(torch.cuda.device_count(), torch.cuda.mem_get_info()[1] >> 30)
        """
    wrong = {
        "MUSASIM_DEVICE_COUNT": "many",
        "MUSASIM_INDUCTOR": "cuda",
        "MUSASIM_MEMORY_BYTES": "16GB",
        "MUSASIM_PROTECT": "maybe",
        "MUSASIM_TREADS": "2",  # last in the order of the names
    }
    done = musa.run(code, env={**wrong})
    assert done.stdout.split() == ["2", "16"]
    lines = [line for line in done.stderr.splitlines() if line.startswith("musasim: ")]
    *of_values, of_the_name = settings.problems(wrong)
    assert sorted(lines) == [
        *(f"musasim: {line}; it counts as not set" for line in of_values),
        f"musasim: {of_the_name}",
    ]


def test_flags_are_read_by_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, is_on in (("1", True), ("Yes", True), ("0", False), ("off", False), ("maybe", False)):
        monkeypatch.setitem(os.environ, "MUSASIM_MEMCHECK", text)
        assert settings.is_on("MUSASIM_MEMCHECK") is is_on
