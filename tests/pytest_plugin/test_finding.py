"""A finding of the memory checker, read from the simulator's words and shown with the lines of source."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchada.pytest_plugin.finding import Finding, Place, is_of_kernel

pytestmark = pytest.mark.once

RACE = (
    "kernel sum, block (1, 0, 0), thread (31, 0, 0): race: with thread (0, 0, 0) of the block, no barrier between them: "
    "it reads what the other writes\n    at csrc/sum.cu:3\n    and csrc/sum.cu:2"
)


def test_its_parts_are_read() -> None:
    finding = Finding.of(RACE)
    assert (finding.kernel, finding.block, finding.thread) == ("sum", "(1, 0, 0)", "(31, 0, 0)")
    assert finding.kind == "race" and finding.what.endswith("it reads what the other writes")
    assert (finding.place, finding.other) == (Place("csrc/sum.cu", 3), Place("csrc/sum.cu", 2))


def test_work_of_streams_and_the_host_have_no_block_and_no_thread() -> None:
    what = "it reads what aten::mul on the default stream of device 0 writes"
    text = f"aten::add on stream 1 of device 0: race between streams: {what}"
    one = Finding.of(f"{text}\n    at t.py:3\n    and t.py:2")
    assert (one.who(), one.kind) == ("aten::add on stream 1 of device 0", "race between streams")
    assert one.what == what and (one.place, one.other) == (Place("t.py", 3), Place("t.py", 2))
    host = Finding.of("the host: use before synchronisation: of memory\n    at t.py:3\n    and t.py:2")
    assert (host.who(), host.kind, host.block) == ("the host", "use before synchronisation", "")
    assert is_of_kernel(RACE) and not is_of_kernel(text + "\n    at t.py:3")


def test_a_place_may_be_in_a_library_whose_lines_nobody_knows() -> None:
    one = Finding.of("kernel k, block (0, 0, 0), thread (0, 0, 0): read after free: of 4 bytes\n    at /lib/k.so+0x12")
    assert (one.place, one.other) == (Place("/lib/k.so+0x12", 0), None)


def test_other_words_are_kept_as_they_are() -> None:
    one = Finding.of("something new\n    at k.cu:7")
    assert (one.kind, one.what, one.place) == ("fault", "something new", Place("k.cu", 7))


def test_both_lines_of_a_race_are_quoted(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "sum.cu").write_text("// sum\n  kept[i] = x[i];\n  y[i] = kept[i + 1];\n")
    assert Finding.of(RACE).shown(str(tmp_path)).splitlines() == [
        "csrc/sum.cu:3: race: with thread (0, 0, 0) of the block, no barrier between them: it reads what the other writes",
        "    by kernel sum, block (1, 0, 0), thread (31, 0, 0)",
        "    csrc/sum.cu:3:  y[i] = kept[i + 1];",
        "    csrc/sum.cu:2:  kept[i] = x[i];",
    ]
