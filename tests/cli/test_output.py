"""What commands print and write: --json, and files for --report, whole or not at all."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import pytest

from torchada.cli import output

pytestmark = pytest.mark.once

WRITERS = {".json": lambda: output.as_json({"a": 1}), ".html": lambda: "<p>\udcff</p>"}


def options(**values: object) -> argparse.Namespace:
    return argparse.Namespace(**{"command": "check", "json": False, "report": [], **values})


def test_a_document_is_printed_as_lines_or_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.show(options(), {"a": 1}, lambda terminal: ["one", "two"])
    output.show(options(json=True), {"a": 1}, lambda terminal: ["one"])
    lines, _, found = capsys.readouterr().out.partition("two\n")
    assert lines == "one\n" and json.loads(found) == {"a": 1}


def test_each_file_is_written_by_the_writer_of_its_suffix(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.json", "b.html")]
    assert output.write(options(report=files), WRITERS)
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1}
    assert (tmp_path / "b.html").read_bytes() == b"<p>\\udcff</p>"
    assert sorted(os.listdir(tmp_path)) == ["a.json", "b.html"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "gone" / "a.json")
    assert not output.write(options(report=[file]), WRITERS)
    assert capsys.readouterr().err == f"torchada check: --report {file}: No such file or directory\n"


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.json"
    target.write_text("before")

    def fail(*names: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        output.write_whole(str(target), "after")
    assert os.listdir(tmp_path) == ["a.json"] and target.read_text() == "before"
