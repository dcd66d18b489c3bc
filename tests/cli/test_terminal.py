"""Text of the tools: columns that fit, and colour only where somebody looks at a terminal."""

from __future__ import annotations

import io

import pytest

from torchada.report import terminal
from torchada.report.severity import (
    ERROR,
    NOTE,
    OK,
    WARNING,
    exit_code,
    worst,
)
from torchada.report.terminal import Terminal
from torchada.report.text import table

pytestmark = pytest.mark.once


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_piped_output_has_no_colour() -> None:
    assert Terminal(io.StringIO()).painted("bad", ERROR) == "bad"
    assert Terminal(Screen()).painted("bad", ERROR) == "\033[1;31mbad\033[0m"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_without_colour_gets_none(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert Terminal(Screen()).painted("bad", ERROR) == "bad"


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_rows_fit_the_terminal_and_lose_no_word(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = " ".join(f"word{number}" for number in range(40))
    lines = Terminal(Screen()).table([("a", "name", text), ("bb", "n", "short")])
    assert max(map(len, lines)) <= columns
    assert " ".join(" ".join(lines).split()) == f"a name {text} bb n short"
    assert lines[-1] == "    bb  n     short" and lines[1].startswith(" " * 14 + "word")


def test_a_path_is_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    path = "/a-long/path-that/is-wider/than-the/whole-terminal/so-it/sticks-out"
    assert path in "\n".join(Terminal(Screen()).table([("a", f"see {path} there")]))


def test_colour_does_not_move_columns() -> None:
    rows = [("error", "x"), ("ok", "y")]
    plain = Terminal(io.StringIO()).table(rows, looks=("error", "ok"))
    painted = Terminal(Screen()).table(rows, looks=("error", "ok"))
    assert plain == ["    error  x", "    ok     y"]
    assert painted[1] == "    \033[32mok   \033[0m  y"


def test_no_rows_are_no_lines() -> None:
    assert Terminal(io.StringIO()).table([]) == []


def test_a_table_of_any_width_keeps_each_row_in_one_line() -> None:
    assert table([("a", "b" * 300), ("long", "c d\n")], indent="") == [f"a     {'b' * 300}", "long  c d"]
    assert table([("a",), ("bb",)]) == ["    a", "    bb"]


def test_numbers_end_in_one_column() -> None:
    rows = [("calls", "from"), ("7", "a.py"), ("1,234", "b.py")]
    assert table(rows, "  ", numbers=True) == ["  calls  from", "      7  a.py", "  1,234  b.py"]


def test_severities_are_ordered_and_give_the_exit_code() -> None:
    assert worst([]) == OK and worst([NOTE, ERROR, OK]) == ERROR
    assert [exit_code([each]) for each in (ERROR, WARNING, NOTE, OK)] == [1, 0, 0, 0]
    assert [exit_code([each], WARNING) for each in (ERROR, WARNING, NOTE, OK)] == [1, 1, 0, 0]
    assert terminal.CODES.keys() >= {ERROR, WARNING, NOTE, OK}
