"""The runner of other people's suites: each verdict is kept, whatever a test does to its process, and compared with the list."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from outside import headers, libraries, running, scoring
from outside.__main__ import _suite
from outside.cases import score as cases
from outside.parts import Part
from outside.programs import table
from outside.projects import building, memcheck, testing
from outside.projects.table import Expected, Project
from outside.running import Bounds, Verdict
from outside.scoring import Known
from outside.suites import HERE, OP_DB, SUITES, Suite, op_db

pytestmark = pytest.mark.once

TESTS = """
import os, time
import pytest

def test_good(): pass
def test_bad(): assert 1 == 2, "one is not two"
def test_crash(): os._exit(3)
def test_after_the_crash(): pass
def test_memory(): bytearray(1 << 40)
def test_hang(): time.sleep(600)
@pytest.mark.skip(reason="not here")
def test_skipped(): pass
@pytest.mark.xfail
def test_expected(): assert False
@pytest.fixture
def broken():
    yield
    raise ValueError("in the teardown")
def test_teardown(broken): pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> tuple[Suite, Path]:
    folder = tmp_path / "checkout" / "tests"
    folder.mkdir(parents=True)
    (folder / "test_any.py").write_text(TESTS)
    return Suite("any", "tests", ("test_*.py",), "nothing"), folder.parent


@pytest.mark.slow
def test_each_test_gets_its_verdict(suite: tuple[Suite, Path], tmp_path: Path) -> None:
    bounds = Bounds(gibibytes=4, seconds=15)
    ((_, verdicts),) = running.run(*suite, tmp_path / "results", bounds)
    found = {each.test.split("::")[1]: (each.verdict, each.error) for each in verdicts}
    assert {name: verdict for name, (verdict, _) in found.items()} == {
        "test_good": "passed",
        "test_bad": "failed",
        "test_crash": "failed",
        "test_after_the_crash": "passed",
        "test_memory": "failed",
        "test_hang": "failed",
        "test_skipped": "skipped",
        "test_expected": "xfailed",
        "test_teardown": "failed",
    }
    assert found["test_crash"][1] == "exit code 3" and found["test_hang"][1] == "no end after 15 s"
    assert "one is not two" in found["test_bad"][1] and "MemoryError" in found["test_memory"][1]
    assert "in the teardown" in found["test_teardown"][1] and "not here" in found["test_skipped"][1]


def test_a_run_goes_on_where_it_was(suite: tuple[Suite, Path], tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    names = ("test_bad", "test_crash", "test_hang", "test_memory", "test_teardown")
    lines = [f'{{"test": "test_any.py::{name}", "verdict": "passed", "error": ""}}' for name in names]
    (results / "test_any.py.jsonl").write_text("\n".join(lines) + "\n")
    ((_, verdicts),) = running.run(*suite, results, Bounds(gibibytes=4, seconds=60))
    assert all(each.verdict != "failed" for each in verdicts) and len(verdicts) == 9
    assert running.recorded(results) == verdicts


def test_a_file_that_cannot_be_imported_is_one_failure(suite: tuple[Suite, Path], tmp_path: Path) -> None:
    (suite[1] / "tests" / "test_any.py").write_text("import a_module_that_is_not_there")
    ((_, verdicts),) = running.run(*suite, tmp_path / "results", Bounds(gibibytes=4, seconds=60))
    assert [each.verdict for each in verdicts] == ["failed"] and "a_module_that_is_not_there" in verdicts[0].error


LIBRARY = """
[[library]]
name = "there"
github = "somebody/there"
commit = "0123456789"
root = "tests"
start = "tests/deeper"
files = ["test_*.py"]
sources = ["."]
needs = ["json"]
env = {THERE = "yes"}
options = ["-k", "not left_out"]

[[library]]
name = "lacking"
github = "somebody/lacking"
commit = "0123456789"
root = "tests"
files = ["test_*.py"]
needs = ["a_module_that_is_not_there"]

[[library]]
name = "elsewhere"
github = "somebody/elsewhere"
commit = "0123456789"
root = "tests"
files = ["test_*.py"]
"""
ITS_TESTS = """
import os
import sys
import there

def test_environment(): assert os.environ["THERE"] == "yes" and there.VALUE == 1
def test_folder(): assert os.path.basename(os.getcwd()) == "deeper"
def test_its_own(): assert there.VALUE == 2
def test_left_out(): pass
def test_on_the_device():
    import torch
    assert torch.ones(2, device="cuda").add(1).sum() == 4
"""


def test_libraries_are_run_as_far_as_they_can_be(tmp_path: Path) -> None:
    (tmp_path / "table.toml").write_text(LIBRARY)
    for name in ("there", "lacking"):
        (tmp_path / name / "tests" / "deeper").mkdir(parents=True)
    (tmp_path / "there" / "there.py").write_text("VALUE = 1")
    (tmp_path / "there" / "tests" / "test_it.py").write_text(ITS_TESTS)
    rows = libraries.read(tmp_path / "table.toml")
    bounds = Bounds(gibibytes=8, seconds=60)
    outcomes = list(libraries.run(rows, tmp_path, tmp_path / "results", bounds, "2.13.0"))
    there, lacking, elsewhere = outcomes
    assert there.score is not None and there.score.counts == {"passed": 3, "failed": 1} and there.differs
    assert +there.score.on_device == {"passed": 1}
    assert "a_module_that_is_not_there" in lacking.why and "https://github.com/somebody/elsewhere" in elsewhere.why
    text = libraries.report(outcomes, "2.13.0")
    assert "there: not on the list: test_it.py::test_its_own" in text and text.count("not run") == 2
    assert text.endswith("in all: on the device: 1 passed, 0 failed; libraries: 1\n")
    again = libraries.run(rows, tmp_path, tmp_path / "results", bounds, "2.13.0", score_only=True)
    assert [outcome.score is not None for outcome in again] == [True, False, False]


def test_every_library_names_its_commit_and_has_known_causes() -> None:
    rows = libraries.read()
    assert len({row.name for row in rows}) == len(rows) and all(len(row.commit) == 40 for row in rows)
    kept = {path.stem for path in (HERE / "kept" / libraries.NAME).glob("*.toml")}
    assert kept <= {row.name for row in rows}
    for name in kept:
        scoring.read(HERE / "kept" / libraries.NAME / f"{name}.toml", "2.13.0")


def test_a_sample_is_of_the_tests_that_pytest_is_told_to_take(suite: tuple[Suite, Path], tmp_path: Path) -> None:
    chosen = replace(suite[0], arguments=("-k", "after_the_crash or skipped"))
    ((_, verdicts),) = running.run(chosen, suite[1], tmp_path / "results", Bounds(gibibytes=4, seconds=60, every=2))
    assert [each.verdict for each in verdicts] == ["passed", "skipped"]


def test_all_files_of_a_suite_may_share_a_process(suite: tuple[Suite, Path], tmp_path: Path) -> None:
    (suite[1] / "tests" / "test_more.py").write_text("import os\ndef test_process(): print(os.getpid())\n")
    together = replace(suite[0], arguments=("-k", "good or process"), together=True)
    ((path, verdicts),) = running.run(together, suite[1], tmp_path / "results", Bounds(gibibytes=4, seconds=60))
    assert path == suite[1] / "tests" and [each.test for each in verdicts] == [
        "tests/test_any.py::test_good",
        "tests/test_more.py::test_process",
    ]
    assert [file.name for file in (tmp_path / "results").glob("*.jsonl")] == ["together.jsonl"]


SIZES = """
import pytest

@pytest.mark.parametrize("kind", ["a", "b"])
@pytest.mark.parametrize("rows, columns", [(4096, 2), (3, 7), (64, 64)])
def test_sizes(rows, columns, kind): pass
def test_alone(): pass
"""


def test_the_smallest_of_each_test_are_chosen(suite: tuple[Suite, Path], tmp_path: Path) -> None:
    (suite[1] / "tests" / "test_any.py").write_text(SIZES)
    for number, chosen in ((1, ["3-7-a"]), (3, ["64-64-a", "3-7-a", "3-7-b"])):
        bounds = Bounds(gibibytes=4, seconds=60, smallest=number)
        ((_, verdicts),) = running.run(*suite, tmp_path / f"results {number}", bounds)
        names = [each.test.split("::")[1] for each in verdicts]
        assert sorted(names) == sorted([*(f"test_sizes[{each}]" for each in chosen), "test_alone"])


def test_failures_are_compared_with_the_list() -> None:
    rows = [
        Known("*test_a*", "vendor", "its own", error="one"),
        Known("*test_b", "text", "words"),
        Known("*test_c[x]", "simulator", "brackets", sometimes=True),
        Known("*never_run", "ours", "not part of this run"),
    ]
    verdicts = [
        Verdict("test_a1", "failed", "number one"),
        Verdict("test_a2", "failed", "number two"),
        Verdict("test_b", "passed"),
        Verdict("test_c[x]", "passed"),
    ]
    made = scoring.score(verdicts, rows)
    assert made.causes == {"vendor": 1} and made.counts == {"failed": 2, "passed": 2}
    assert [each.test for each in made.new] == ["test_a2"] and made.gone == [rows[1]]
    assert scoring.table("s", "2.13", made) == "| s | 2.13 | 2 | 2 | 0 | 0 | 1 vendor, 1 unknown |"


@pytest.mark.parametrize("path", sorted((HERE / "kept").glob("*.toml")), ids=lambda path: path.stem)
def test_the_kept_lists_name_a_cause_and_a_reason(path: Path) -> None:
    suites = {headers.NAME, OP_DB, cases.NAME, *(each.kept or name for name, each in SUITES.items())}
    suites |= set(map(table.kept, table.NAMES))
    empty = path.read_text(encoding="utf-8").endswith("failure = []\n")
    sources = ("2.6.0", "2.11.0")  # of PyTorch's checkouts, and of torch_musa
    assert path.stem in suites and (empty or any(scoring.read(path, "2.13.0", source) for source in sources))


def test_a_suite_on_another_release_keeps_verdicts_of_its_own(tmp_path: Path) -> None:
    suite = SUITES["torch-musa"]
    newer = suite.on("2.11.0")
    assert (newer.name, newer.kept, newer.files) == ("torch-musa-2.11.0", "torch-musa", suite.files)
    assert [each.environment(tmp_path)["MUSASIM_RELEASE"] for each in (suite, newer)] == ["2.7.1", "2.11.0"]
    options = argparse.Namespace(suite="torch-musa", release="2.9.1")
    assert _suite(options) == suite.on("2.9.1")


def test_a_row_without_a_known_cause_is_refused(tmp_path: Path) -> None:
    (tmp_path / "any.toml").write_text('failure = [{tests = "*", cause = "bad luck", why = "?"}]\n')
    with pytest.raises(SystemExit, match="needs a reason and one of the causes"):
        scoring.read(tmp_path / "any.toml", "2.13.0")


def test_a_row_may_be_for_a_version_of_torch_or_of_the_sources(tmp_path: Path) -> None:
    row = '[[failure]]\ntests = "*{0}"\ncause = "version"\nwhy = "?"\n{1}\n'
    path = tmp_path / "any.toml"
    path.write_text(
        "".join([row.format("a", 'torch = ["2.7"]'), row.format("b", 'source = ["2.12"]'), row.format("c", "")])
    )
    found = {
        versions: "".join(each.tests[1:] for each in scoring.read(path, *versions))
        for versions in (("2.7.1", "2.6.0"), ("2.13.0", "2.12.1a0"), ("2.13.0", ""))
    }
    assert found == {("2.7.1", "2.6.0"): "ac", ("2.13.0", "2.12.1a0"): "bc", ("2.13.0", ""): "c"}


DEVICES = """
class TestPlain:
    {0}
class TestAnyCPU:
    {0}
class TestAnyCUDA:
    {0}
def test_alone(): pass
"""


@pytest.mark.full
def test_of_tests_for_each_type_of_device_those_for_cuda_are_run(suite: tuple[Suite, Path], tmp_path: Path) -> None:
    (suite[1] / "tests" / "test_any.py").write_text(DEVICES.format("def test_it(self): pass"))
    bounds = Bounds(gibibytes=16, seconds=200)
    chosen = replace(suite[0], harness="torchada_devices", env={"TORCHADA_SIMULATE": "1"})
    ((_, verdicts),) = running.run(chosen, suite[1], tmp_path / "results", bounds)
    assert [each.test for each in verdicts] == ["test_any.py::TestAnyCUDA::test_it"]


def test_a_choice_of_no_file_is_refused(suite: tuple[Suite, Path], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"--only tests/test_any: no file has this in its path; one is test_any\.py"):
        list(running.run(*suite, tmp_path / "results", Bounds(), "tests/test_any"))
    with pytest.raises(SystemExit, match="--only nonsense"):
        running.chosen(headers.headers(), "nonsense")


@pytest.mark.slow
@pytest.mark.musa
def test_operators_are_compared_with_the_cpu_and_a_run_may_take_a_part(tmp_path: Path) -> None:
    verdicts: list[Verdict] = []
    for number in (1, 2):
        suite = op_db("2.7.1", "native", Part(number, 2), "trunc ")
        ((_, found),) = running.run(suite, HERE, tmp_path, Bounds(gibibytes=16, seconds=200))
        verdicts += found
    assert running.recorded(tmp_path) == verdicts and {each.verdict for each in verdicts} == {"passed"}
    types = ("bfloat16", "float16", "float32", "float64")
    ways = {f"trunc {dtype} {way}" for dtype in types for way in ("forward", "gradients")}
    assert {each.test for each in verdicts} == ways | {f"trunc {dtype} forward" for dtype in INTEGERS}


INTEGERS = ("int16", "int32", "int64", "int8", "uint8")


def test_wrong_and_refused_are_told_apart() -> None:
    verdicts = [
        Verdict("add float32 forward", "passed"),
        Verdict("mm float64 forward", "failed", "wrong: sample 0: strides"),
        Verdict("mm float64 gradients", "failed", "refused: RuntimeError: no"),
        Verdict("mul complex32 forward", "skipped", "the CPU computes no sample of this type"),
    ]
    assert scoring.kinds(verdicts).splitlines()[2:] == [
        "| forward | 1 | 0 | 1 | 50.00% |",
        "| gradients | 0 | 1 | 0 | 0.00% |",
    ]


@pytest.mark.parametrize("text", ["3", "0/2", "3/2", "1/2/3", "a/b"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is no part: expected I/N"):
        Part.read(text)


@pytest.mark.parametrize("count", [1, 3, 10])
def test_parts_share_all_items(count: int) -> None:
    parts = [Part.read(f"{number}/{count}").of(range(7)) for number in range(1, count + 1)]
    assert sorted(item for part in parts for item in part) == list(range(7))


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"has no tests/unittest/\*/\*\*/test_\*\.py"):
        SUITES["torch-musa"].paths(tmp_path)


@pytest.mark.parametrize("last", ["", "musasim: memcheck: 1 fault found\n"])
def test_the_figures_of_a_check_are_read_from_its_log(tmp_path: Path, last: str) -> None:
    log = tmp_path / "log"
    log.write_text('{"tried": 12, "wrong": ["sums: 0.5"]}\n' + last)
    assert testing._printed(log) == testing.Tested(11, 1, 0, ("sums: 0.5",))


SETUP = """
from setuptools import Extension, setup
print("built", __name__)
setup(name="sized", ext_modules=[Extension("one", ["one.c", "kernel_256.c", "kernel_512.c"]), Extension("two", ["two.c"])])
"""


def test_of_a_large_project_only_the_sources_that_a_row_names_are_built(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)
    for name in ("one", "two", "kernel_256", "kernel_512"):
        refused = "#error not this one\n" if name in ("two", "kernel_512") else ""
        (tmp_path / f"{name}.c").write_text(f"{refused}int {name};\n")
    row = Project("sized", (), ("check:none",), Expected(), only=("one.c", "*_256.c"))
    built = building.build(row, tmp_path, tmp_path.with_suffix(".log"))
    assert (built.code, built.sources, built.changed) == (0, 5, ()), tmp_path.with_suffix(".log").read_text()
    assert [path.name.split(".")[0] for path in tmp_path.glob("*.so")] == ["one"]
    nothing = building.build(replace(row, only=("three.c",)), tmp_path, tmp_path.with_suffix(".log"))
    assert nothing.code != 0 and "no extension has a source that three.c names" in nothing.stops
    assert building.build(replace(row, only=()), tmp_path, tmp_path.with_suffix(".log")).code != 0


def test_a_project_by_cmake_gets_what_stands_in_for_a_download(tmp_path: Path) -> None:
    """By the paths of its own folder and of this Python, in the environment of `torchada build`."""
    build = ("torchada", "-DSOURCE_DIR_PYBIND11={folder}/pybind11", "-DPYTHON_EXECUTABLE={python}")
    row = Project("fetches", (), ("check:none",), Expected(), build=build)
    configure, compiled = building._commands(row, tmp_path, {"MAX_JOBS": "3"})
    assert configure[:6] == [sys.executable, "-m", "torchada", "build", "cmake", "-S"]
    assert configure[-2:] == [f"-DSOURCE_DIR_PYBIND11={tmp_path}/pybind11", f"-DPYTHON_EXECUTABLE={sys.executable}"]
    assert compiled == ["cmake", "--build", "build", "-j", "3"]


def test_faults_of_a_project_are_read_from_its_log(tmp_path: Path) -> None:
    """Each once, by the kernel's name, the kind, and the place in the project's own sources; pytest's dots may stand before."""
    log = tmp_path / "log"
    log.write_text(
        f"""passed
musasim: memcheck: kernel blur, block (1, 0, 0), thread (31, 0, 0): read out of bounds: read of 4 bytes, 4 bytes past the end
    at {tmp_path}/csrc/blur.cu:12
...musasim: memcheck: kernel sum, block (0, 0, 0), thread (2, 0, 0): race: with thread (1, 0, 0) of the block
    at {tmp_path}/csrc/sum.cuh:3
    and {tmp_path}/csrc/sum.cuh:5
musasim: memcheck: kernel blur, block (7, 0, 0), thread (30, 0, 0): read out of bounds: read of 4 bytes, 8 bytes past the end
    at {tmp_path}/csrc/blur.cu:12
musasim: memcheck: 3 faults found
"""
    )
    assert memcheck.read(log, tmp_path) == (
        "blur: read out of bounds at csrc/blur.cu:12",
        "sum: race at csrc/sum.cuh:3",
    )
