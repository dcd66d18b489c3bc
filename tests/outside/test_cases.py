"""`python -m outside cases`: each verdict comes from what a program did, and is compared with the list of what is known to fail."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from outside.cases import score, table
from outside.cases.table import Case

pytestmark = pytest.mark.once

PROGRAMS = {
    "a/right.py": "print('ok', 1)",
    "a/fails.py": "raise ValueError('of no use')",
    "a/prints.sh": "echo 'FAIL one'; echo 'of two'",
    "a/refused.py": "raise RuntimeError('torchada.UnsupportedError: gone')",
    "b/slow.py": "import time\nprint('begun', flush=True)\ntime.sleep(300)",
    "b/environment.py": "import os\nprint({name: os.getenv(name) for name in ('MUSASIM_RELEASE', 'TORCHADA_NATIVE', 'A', 'B')})",
    "b/moved.py": "from mathematics import pi\nprint(pi)",
    "b/writes.py": "import sys\nopen('made.txt', 'w').write(' '.join(sys.argv[1:]))",
    "b/here.py": "import os\nprint(os.listdir(), os.path.exists(os.path.dirname(os.environ['TORCH_EXTENSIONS_DIR'])))",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PROGRAMS.items():
        path = tmp_path / "programs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "programs"


def run(
    folder: Path, *cases: Case, kept: str = "", seconds: float = 60, release: str = "2.9.1", mechanism: str = "native"
) -> int:
    list_of_failures = folder.parent / "kept.toml"
    list_of_failures.write_text(kept)
    results = folder.parent / "results"
    return score.run(folder, results, seconds, release, mechanism, table=cases, kept=list_of_failures)


def verdicts(folder: Path) -> Mapping[str, str]:
    rows = (folder.parent / "results" / "score.md").read_text().splitlines()[2:]
    return dict(row.strip("| ").split(" | ", 1) for row in rows if row.startswith("| "))


def test_what_a_program_prints_and_its_exit_status_decide(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [
        Case("a/right.py", right=("^ok 1$",)),
        Case("a/fails.py"),
        Case("a/fails.py", exit=1, wrong=""),
        Case("a/prints.sh"),
        Case("a/refused.py"),
    ]
    assert run(folder, *cases[:2], *cases[3:]) == 1
    assert verdicts(folder) == {
        "a/right.py": "right",
        "a/fails.py": "wrong: ValueError: of no use",
        "a/prints.sh": "wrong: FAIL one",
        "a/refused.py": "refused: RuntimeError: torchada.UnsupportedError: gone",
    }
    printed = capsys.readouterr().out
    assert "1 right, 2 wrong, 1 refused, 0 time-out, 0 not run" in printed
    assert "not on the list: a/prints.sh: wrong: FAIL one" in printed
    assert run(folder, cases[2]) == 0  # judged anew, by what was printed before
    assert run(folder, Case("a/right.py", right=("^ok 2$",))) == 1
    assert verdicts(folder) == {"a/right.py": "wrong: it does not print ^ok 2$"}
    assert run(folder, Case("a/right.py", exit=3)) == 1
    assert verdicts(folder) == {"a/right.py": "wrong: exit status 0"}


def test_a_program_that_takes_too_long_is_ended(folder: Path) -> None:
    assert run(folder, Case("b/slow.py", right=("begun",)), seconds=3) == 1
    assert verdicts(folder) == {"b/slow.py": "time-out: no end after 3 s"}


def test_a_failure_that_is_on_the_list_is_no_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = (
        '[[failure]]\ntests = "a/fails.py"\ncause = "vendor"\nwhy = "so it is"\nerror = "of no use"\nsource = ["2.9"]\n'
    )
    assert run(folder, Case("a/fails.py"), kept=kept) == 0
    assert run(folder, Case("a/fails.py"), kept=kept, release="2.11.0") == 1
    assert run(folder, Case("a/fails.py"), kept=kept.replace("of no use", "of use")) == 1
    assert "on the list, but does not fail (that way): a/fails.py: so it is" in capsys.readouterr().out


def test_the_release_the_mechanism_and_the_row_make_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("B", "1")
    monkeypatch.setenv("TORCHADA_VIEW", "musa")
    case = Case(
        "b/environment.py", env={"A": "2", "B": ""}, right=("'2.9.1', 'TORCHADA_NATIVE': '0', 'A': '2', 'B': None",)
    )
    assert run(folder, case, mechanism="portable") == 0
    environment = score.environment(case, "", "native")
    assert "TORCHADA_VIEW" not in environment and "MUSASIM_RELEASE" not in environment
    assert environment["TORCHADA_SIMULATE"] == "1" and environment["PATH"].endswith(os.environ["PATH"])


def test_a_program_is_run_in_an_empty_folder_under_the_names_of_today(folder: Path) -> None:
    moved = Case("b/moved.py", renamed={"mathematics": "math"}, right=(r"^3\.14",))
    assert run(folder, Case("b/here.py", right=(r"^\[\] True$",)), moved) == 0
    assert "mathematics" in (folder / "b/moved.py").read_text()


def test_what_a_program_writes_counts_as_output(folder: Path) -> None:
    case = Case(
        "b/writes.py", start=("-W", "ignore"), args=("a", "b"), shows=("made.txt", "none.txt"), right=(r"\Aa b\Z",)
    )
    assert run(folder, case) == 0


def test_what_cannot_be_run_says_why(folder: Path) -> None:
    cases = [
        Case("a/right.py", needs=("no_such_module",), commands=("no-such-command",)),
        Case("a/fails.py", releases=("2.7.1",)),
        Case("a/refused.py", not_run="of another time"),
    ]
    assert run(folder, *cases) == 1  # nothing was run
    assert verdicts(folder) == {
        "a/right.py": "not run: it needs no_such_module, no-such-command",
        "a/fails.py": "not run: it is for torch_musa 2.7.1",
        "a/refused.py": "not run: of another time",
    }


def test_ranks_are_torchruns(folder: Path) -> None:
    command = Case("b/here.py", ranks=2, torchrun=("--numa-binding=node",), args=("x",)).command(folder / "b/here.py")
    assert command[1:] == [
        *("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--numa-binding=node"),
        *(str(folder / "b/here.py"), "x"),
    ]


def test_the_programs_of_a_folder_are_found_with_their_rows(folder: Path) -> None:
    rows = folder.parent / "cases.toml"
    rows.write_text('["a/right.py"]\nright = ["^ok"]\nranks = 2\n')
    (folder / "notes.md").write_text("no program")
    found = {case.name: case for case in table.read(folder, rows)}
    assert found.keys() == PROGRAMS.keys()
    assert found["a/right.py"] == Case("a/right.py", right=("^ok",), ranks=2) and found["b/here.py"] == Case(
        "b/here.py"
    )
    with pytest.raises(SystemExit, match=r"has no program: expected files that end in \.py or \.sh"):
        table.read(folder.parent / "results", rows)
    with pytest.raises(SystemExit, match="--only nothing: no program"):
        score.run(folder, folder.parent / "results", 1, "2.9.1", "native", "nothing")


def test_a_part_of_the_programs_is_judged_by_the_rows_of_all(folder: Path) -> None:
    """Otherwise `cases FOLDER/a` would judge by other signs than `cases FOLDER`, and be right where that is wrong."""
    rows = folder.parent / "cases.toml"
    rows.write_text('["a/right.py"]\nright = ["^no such line$"]\n')
    part = {case.name: case for case in table.read(folder / "a", rows)}
    assert set(part) == {name for name in PROGRAMS if name.startswith("a/")}
    assert part["a/right.py"].right == ("^no such line$",)
    assert table.top(folder / "a", rows) == folder and table.top(folder / "b", rows) == folder / "b"


def test_every_row_of_the_table_is_one(tmp_path: Path) -> None:
    rows = table.tomllib.loads(table.TABLE.read_text(encoding="utf-8"))
    for name in rows:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert {case.name for case in table.read(tmp_path)} == set(rows)
