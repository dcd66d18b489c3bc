"""`torchada`, `python -m torchada`: the commands as a whole, and their completion in a shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter
from torchada import __version__, cli
from torchada.cli.command import Command

pytestmark = pytest.mark.once

WAYS = (["-m", "torchada"], ["-m", "torchada.cli"])


@pytest.mark.parametrize("way", WAYS)
def test_the_help_lists_every_command(plain: Interpreter, way: list[str]) -> None:
    done = plain.run([*way, "--help"])
    assert done.stdout.startswith("usage: torchada [-h] [--version] COMMAND ...")
    assert all(f"\n    {name} " in done.stdout for name in cli.COMMANDS)
    assert plain.run([*way, "--version"]).stdout == f"torchada {__version__}\n"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_command_is_one_file_with_a_command(plain: Interpreter, name: str) -> None:
    command = cli._load(name)
    assert isinstance(command, Command) and (Path(cli.__file__).parent / f"{name}.py").is_file()
    shown = " ".join(plain.run(["-m", "torchada", name, "--help"]).stdout.split())
    for text in (command.quiet, command.verbose, command.description or command.summary):
        assert " ".join(text.split())[1:] in shown


def test_a_report_is_written_without_an_output_and_the_help_does_not_deny_it(
    plain: Interpreter, tmp_path: Path
) -> None:
    (tmp_path / "a.cu").write_text("int x;\n")
    run = Interpreter(env=plain.env, cwd=tmp_path).run
    run(["-m", "torchada", "port", "a.cu", "--report", "r.json"])
    assert {path.name for path in tmp_path.iterdir()} == {"a.cu", "r.json"}
    assert "Without --output no source is written." in " ".join(
        run(["-m", "torchada", "port", "--help"]).stdout.split()
    )


def test_the_file_of_an_output_is_replaced_by_force_as_the_help_says(plain: Interpreter, tmp_path: Path) -> None:
    for name in ("a.cu", "b.mu"):
        (tmp_path / name).write_text(f"int {name[0]};\n")
    run = Interpreter(env=plain.env, cwd=tmp_path).run
    run(["-m", "torchada", "port", "a.cu", "--output", "b.mu", "--force"])
    assert (tmp_path / "b.mu").read_text() == "int a;\n"
    shown = " ".join(run(["-m", "torchada", "port", "--help"]).stdout.split())
    assert "were changed since; or the file that --output names" in shown


def test_a_worse_finding_than_asked_for_counts_as_the_help_says(plain: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(:\n")  # an error: it cannot be read
    run = Interpreter(env=plain.env, cwd=tmp_path).run
    assert run(["-m", "torchada", "check", "a.py", "--fail-on", "note"], check=False).returncode == 1
    accepted = run(["-m", "torchada", "check", "a.py", "--write-baseline", "b.json"])
    assert accepted.stdout == "" and (tmp_path / "b.json").is_file()
    shown = " ".join(run(["-m", "torchada", "check", "--help"]).stdout.split())
    assert "of --fail-on or a worse one" in shown and "to accept them, and print nothing" in shown


@pytest.mark.parametrize(
    "given", [[], ["nonsense"], ["--bogus"], ["status", "--bogus"], ["status", "-q", "-v"], ["port"]]
)
def test_wrong_arguments_end_with_the_usage(plain: Interpreter, given: list[str]) -> None:
    done = plain.run(["-m", "torchada", *given], check=False)
    command = given[0] if given[:1] in (["status"], ["port"]) else ""
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"usage: torchada {command}".strip())


def test_the_bare_command_lists_its_commands(plain: Interpreter) -> None:
    done = plain.run(["-m", "torchada"], check=False)
    assert (done.returncode, done.stdout) == (2, "") and all(f"\n    {name} " in done.stderr for name in cli.COMMANDS)


@pytest.mark.parametrize(("given", "said"), [("chek", "did you mean check?"), ("zzz", "there are run, port, check")])
def test_a_command_that_is_none_is_answered_with_one_that_is(
    given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main([given])
    assert f"there is no command {given!r}: {said}" in capsys.readouterr().err


def test_the_command_imports_no_torch(plain: Interpreter) -> None:
    code = "import sys\ntry:\n    from torchada.cli import main; main(['run', '--help'])\nfinally:\n    print(sorted(sys.modules))"
    loaded = plain.run(code, check=False).stdout.splitlines()[-1]
    assert "'torchada.cli.run'" in loaded
    assert not [name for name in ("torch", "wrapt", "argcomplete", "torchada.telemetry") if f"'{name}'" in loaded]


def completions(interpreter: Interpreter, line: str, folder: Path) -> set[str]:
    """The completions that a shell gets for `line`."""
    answer = folder / "answer"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    Interpreter(env=interpreter.env, cwd=folder).run(["-m", "torchada"], env=asked)
    return set(answer.read_text().split("\n"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torchada s", {"status"}),
        ("torchada st", {"status"}),
        ("torchada status --", {"--all", "--help", "--json", "--probe", "--quiet", "--verbose"}),
        ("torchada verify --level ", {"quick", "standard", "full"}),
        ("torchada run --platform ", {"auto", "musa", "npu", "mlu", "host", "xpu", "mps", "cuda", "cpu"}),
        ("torchada run --simulate tra", {"train.py"}),
        ("torchada port --report t", {"train.py"}),
    ],
)
def test_a_shell_completes_commands_options_and_files(
    plain: Interpreter, tmp_path: Path, line: str, expected: set[str]
) -> None:
    (tmp_path / "train.py").write_text("")
    assert completions(plain, line, tmp_path) == expected


def test_the_files_that_argcomplete_looks_into_are_marked() -> None:
    for name in ("cli/__init__.py", "__main__.py"):
        assert "PYTHON_ARGCOMPLETE_OK" in (ROOT / "src" / "torchada" / name).read_text()[:1024]


def test_completion_without_argcomplete_is_the_ordinary_command(plain: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "argcomplete.py").write_text("raise ImportError")
    done = Interpreter(cwd=tmp_path).run(["-m", "torchada", "--version"], env={"_ARGCOMPLETE": "1"})
    assert done.stdout == f"torchada {__version__}\n"
