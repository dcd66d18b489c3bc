"""What `torchada port --diff` prints can be applied, and takes time in proportion to the source."""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchada.porting import port_file
from torchada.porting.diff import unified

pytestmark = pytest.mark.once

LINES = st.sampled_from([b"a\n", b"b\n", b"\n", b"\r\n", b"c\rd\n", b"\xff\n"])
RANGE = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def lines_of(before: bytes, after: bytes) -> list[bytes]:
    return b"".join(unified(before, after, b"a/x", b"b/x")).splitlines(keepends=False)


def applied(before: bytes, diff: bytes) -> bytes:
    """The text with the diff applied, which has to fit at every line."""
    old, new, at = before.split(b"\n"), [], 0
    body = diff.split(b"\n")[2:-1]
    for line in body:
        if found := RANGE.match(line + b"\n"):
            start = int(found[1]) - (found[2] != b"0")
            new += old[at:start]
            at = start
            assert len(new) + 1 == int(found[3]) or found[4] == b"0"
        elif line.startswith(b"+"):
            new.append(line[1:])
        elif not line.startswith(b"\\"):
            assert line[1:] == old[at]
            new += [old[at]] if line.startswith(b" ") else []
            at += 1
    return b"\n".join([*new, *old[at:]])


@given(st.lists(st.tuples(LINES, LINES), max_size=30), st.lists(LINES, max_size=3), st.booleans())
def test_the_diff_leads_from_the_source_to_its_port(
    pairs: list[tuple[bytes, bytes]], first: list[bytes], changes: bool
) -> None:
    before = b"".join(old for old, _ in pairs)
    after = b"".join([*first, *(new if changes else old for old, new in pairs)])
    diff = b"".join(unified(before, after, b"a/x", b"b/x"))
    assert applied(before, diff) == after if diff else before == after


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_it_is_what_difflib_finds_where_lines_differ_from_all_others(changed: list[bool]) -> None:
    old = [b"%d\n" % at for at in range(len(changed))]
    new = [b"new %d\n" % at if change else b"%d\n" % at for at, change in enumerate(changed)]
    expected = difflib.diff_bytes(difflib.unified_diff, old, new, b"a", b"b", lineterm=b"\n")
    assert list(unified(b"".join(old), b"".join(new), b"a", b"b")) == list(expected)


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_patch_applies_the_diff_of_a_source_that_gets_an_include(tmp_path: Path, end: str) -> None:
    source = "\ufeff// limits\n" + "int a;\n" * 20 + "float x = FLT_MAX;\n" + "int b;\n" * 9 + f"cudaFree(p);{end}"
    file = tmp_path / "x.cu"
    file.write_bytes(source.encode())
    ported = port_file(file).text
    assert ported.startswith("\ufeff#include <float.h>".encode())
    diff = b"".join(unified(file.read_bytes(), ported, b"a/x.cu", b"b/x.cu"))
    subprocess.run(["patch", "-p1", "--binary", "-s", file], input=diff, check=True)
    assert file.read_bytes() == ported


def test_twice_the_source_takes_twice_the_steps() -> None:
    """Lines that are all alike, of which every second one changes: what searches for pairs takes the square of their number."""

    def steps(count: int) -> int:
        """The lines of Python that are executed."""
        executed = 0

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal executed
            executed += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            lines = lines_of(b"a\nb\n" * count, b"a\nc\n" * count)
        finally:
            sys.settrace(before)
        assert len(lines) == 3 * count + 3
        return executed

    assert 1000 < steps(2000) < 2.2 * steps(1000)


def test_fewer_lines_than_before_are_an_error() -> None:
    with pytest.raises(ValueError, match="2 lines have become 1"):
        list(unified(b"a\nb\n", b"a\n", b"a", b"b"))
