"""The benchmark of the names of torch.cuda measures what it says; no test here looks at the times."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from support.interpreter import ROOT, Interpreter, clean_environment

pytestmark = pytest.mark.once

NAMES = str(ROOT / "benchmarks" / "names.py")


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The modules of the benchmarks by name, as the programs there import one another."""
    before = set(sys.modules)
    for folder in (ROOT, ROOT / "benchmarks"):
        monkeypatch.syspath_prepend(folder)
    yield import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(ROOT / "benchmarks")):
            del sys.modules[name]


@pytest.mark.slow
@pytest.mark.skipif(torch.version.cuda is not None, reason="what fails in this table works in a build for CUDA")
def test_names_are_called_in_three_processes(musa: Interpreter, tmp_path: Path) -> None:
    old = tmp_path / "old"  # in the place of 0.1.103, a torchada that changes nothing
    (old / "torchada").mkdir(parents=True)
    (old / "torchada" / "__init__.py").touch()
    options = ["--only", "current_device", "--only", "nvtx.mark", "--rounds", "1", "--starts", "1", "--old", str(old)]
    shown = musa.run([NAMES, *options]).stdout
    assert re.search(
        r"^\| `torch\.cuda\.current_device\(\)` \| \d+ \| \d+ \| fails: AttributeError \| [\d.]+ \| - \|$", shown, re.M
    )
    assert re.search(
        r"^\| `torch\.cuda\.nvtx\.mark\('mark'\)` \| \d+ \| - \| fails: RuntimeError \| - \| - \|$", shown, re.M
    )
    assert "Against native, 1 of 2 names" in shown
    assert "2 of the 2 fail under 0.1.103" in shown


@pytest.mark.slow
def test_a_transformer_is_trained_by_both_programs_in_turn(musa: Interpreter) -> None:
    shown = musa.run(
        [str(ROOT / "benchmarks" / "training.py"), "--starts", "2", "--rounds", "2", "--steps", "1"]
    ).stdout
    rows = re.findall(r"^eager, (\w+) +(.+?) +[\d.]+ ms per step, ([\d.]+) of musa code \(\+- ([\d.]+)\)$", shown, re.M)
    programs = ["torchada", "musa code", "musa code, again"]
    assert [row[:2] for row in rows] == [(how, name) for how in ("native", "portable") for name in programs]
    assert all(float(ratio) > 0 for *_, ratio, _ in rows) and rows[1][2:] == rows[4][2:] == ("1.000", "0.000")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_the_instructions_of_a_training_step_are_counted(musa: Interpreter) -> None:
    """A count repeats itself to a thousandth, and every translated call adds to it."""
    shown = musa.run([str(ROOT / "benchmarks" / "instructions.py"), "--steps", "1"], timeout=900).stdout
    found = {
        name: int(number.replace(",", "")) for name, number in re.findall(r"^eager, (.+?) +([\d,]+) inst", shown, re.M)
    }
    assert list(found) == ["musa code", "musa code, again", "native", "portable"]
    assert found["musa code, again"] == pytest.approx(found["musa code"], rel=1e-3)
    assert found["portable"] > found["musa code"] > 1e6


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_the_instructions_of_an_import_are_counted(benchmarks: Any) -> None:
    imports = benchmarks("triton_imports")
    nothing, again, more = (
        imports.instructions(imports.python(code, {"PYTHONHASHSEED": "0"}))
        for code in ("pass", "pass", "import decimal")
    )
    assert again == pytest.approx(nothing, rel=1e-3)
    assert more > 1.01 * nothing
    with pytest.raises(RuntimeError, match="'absent'"):
        imports.instructions(imports.python("import absent", {}))


def test_what_an_import_adds_is_told_at_the_speed_of_the_whole(
    benchmarks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports = benchmarks("triton_imports")
    times = iter([500.0, 400.0, 600.0])
    monkeypatch.setattr(imports, "instructions", lambda program: 990_000)
    monkeypatch.setattr(imports, "start", lambda program: benchmarks("startup").Start(next(times), 0.0))
    comparison = imports.Comparison("", imports.python("ours", {}), imports.python("without", {}))
    assert imports.compare(comparison, 1_000_000, 3).strip() == "+10,000 of 1,000,000 instructions, +4.00 of 400 ms"


def test_every_name_that_can_be_called_is_called_or_left_out_with_a_reason(benchmarks: Any) -> None:
    found = {use.path: use for use in benchmarks("uses").uses([])}
    assert found["torch.cuda.CUDAGraph"].native == (("torch.musa.MUSAGraph", "torch.musa.MUSAGraph()"),)
    assert found["torch.cuda.nccl.all_reduce"].native[0][0] == "torch.musa.mccl.all_reduce"
    assert ("torch.musa.seed", "torch.musa.seed()") in found["torch.cuda.random.seed"].native
    # A dense tensor is no counterpart of a sparse one, though torch.musa has one of that name.
    assert [place for place, _ in found["torch.cuda.sparse.FloatTensor"].native] == ["torch.musa.sparse.FloatTensor"]
    assert found["torch.cuda.device"].cuda == "with torch.cuda.device(0):\n    pass"
    assert not {"torch.cuda.empty_cache", "torch.cuda.jiterator", "torch.cuda.has_half"} & found.keys()


def test_the_outcome_is_computed_from_the_measurements(benchmarks: Any) -> None:
    names, uses = benchmarks("names"), benchmarks("uses")
    calm = names.Cost(uses.Use("torch.cuda.a", "same", "torch.cuda.a()", ()))
    calm.times = {"torchada": [10.0, 30.0], "native": [10.0, 30.0], "0.1.103": [20.0, 60.0]}
    dear = names.Cost(uses.Use("torch.cuda.b", "adapted", "torch.cuda.b()", ()), fails={"0.1.103": "AttributeError"})
    dear.times = {"torchada": [30.0, 20.0], "native": [10.0, 10.0]}
    # A single lucky round of the other process is noise.
    lucky = names.Cost(uses.Use("torch.cuda.c", "same", "torch.cuda.c()", ()))
    lucky.times = {"torchada": [10.0] * 4, "native": [5.0, 10.0, 10.0, 10.0]}
    lines = benchmarks("costs_page").body({cost.use.path: cost.summary() for cost in (calm, dear, lucky)})
    assert "3 of 3 names: the median ratio is 2.00, the worst 2.00 (`torch.cuda.b`); 1 are above 1.10" in lines[0]
    assert "1 of 3 names: the median ratio is 0.50, the worst 0.50 (`torch.cuda.a`); 0 are above 1.00" in lines[1]
    assert lines[2] == "- 1 of the 3 fail under 0.1.103."
    assert "| `torch.cuda.b` | 2.00 | - | not known |" in lines
    assert "| `torch.cuda.b()` | 20 | 10 | fails: AttributeError | 2.00 | - |" in lines


def test_the_page_shows_the_last_measurement_on_record(benchmarks: Any) -> None:
    page = benchmarks("costs_page")
    measured = benchmarks("history").entries("names")
    assert page.PAGE.exists() == bool(measured)
    if measured:
        assert page.PAGE.read_text() == page.page(measured[-1])


# ---------------------------------------------------------------- the history


def test_every_line_of_the_history_is_one_compact_measurement(benchmarks: Any) -> None:
    history = benchmarks("history")
    lines = history.HISTORY.read_text().splitlines(keepends=True)
    measured = history.entries()
    assert [history.line(entry) for entry in measured] == lines
    assert [entry["date"] for entry in measured] == sorted(entry["date"] for entry in measured)
    for entry in measured:
        assert {"benchmark", "date", "machine", "versions", "results"} <= entry.keys()
        assert {"python", "torchada"} <= entry["versions"].keys() and history.figures(entry)


def test_append_adds_one_line_that_names_machine_revision_and_versions(benchmarks: Any, tmp_path: Path) -> None:
    record, history = benchmarks("record"), benchmarks("history")
    path = tmp_path / "history.jsonl"
    for value in (1.0, 2.0):
        record.append("toy", {"torchada": "0.9", "backend": "toy"}, {"rounds": 3, "a": {"ns": value}}, path)
    first, second = history.entries(history=path)
    assert path.read_text().count("\n") == 2
    # PyPI's distribution of a build for CUDA leaves out what torch.__version__ says of it: 2.7.1, and 2.7.1+cu126.
    assert first["versions"]["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    assert first["versions"]["torchada"] == "0.9"
    assert first["machine"]["cores"] and first["revision"]
    assert (history.figures(first), history.figures(second)) == ({"toy/a/ns": 1.0}, {"toy/a/ns": 2.0})


def test_history_shows_how_a_figure_has_moved(benchmarks: Any, tmp_path: Path, capsys: Any) -> None:
    history, path = benchmarks("history"), tmp_path / "history.jsonl"
    entry = {
        "benchmark": "toy",
        "date": "2026-01-02T03:04:05+00:00",
        "machine": {"cpu": "Abacus", "cores": 1, "system": "Linux x86_64"},
        "versions": {"python": "3.11.7", "torchada": "0.2.0", "device strings": "native"},
        "results": {"rounds": 40, "calls": {"f([1], 'cuda')": {"ns": 12.5}, "g": [1.0, 0.5, 1.5]}},
    }
    later = {**entry, "date": "2026-02-02T03:04:05+00:00", "revision": "abc1234", "results": {"calls": {"g": 2}}}
    path.write_text(history.line(entry) + history.line(later))
    assert history.main(["toy/calls/f([1], 'cuda')/ns", "*/g"], path) == 0
    assert [re.split(r"  +", shown) for shown in capsys.readouterr().out.splitlines() if shown.startswith("2026")] == [
        ["2026-01-02T03:04", "-", "0.2.0", "-", "3.11.7", "Abacus, 1 cores", "device strings native, rounds 40", "12.5"],
        ["2026-01-02T03:04", "-", "0.2.0", "-", "3.11.7", "Abacus, 1 cores", "device strings native, rounds 40", "1 0.5 1.5"],
        ["2026-02-02T03:04", "abc1234", "0.2.0", "-", "3.11.7", "Abacus, 1 cores", "device strings native", "2"],
    ]  # fmt: skip


def test_history_lists_the_figures_for_one_that_it_does_not_know() -> None:
    command = [sys.executable, "-m", "benchmarks.history", "overhead/nothing"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == ""
    assert "No figure is called 'overhead/nothing'" in done.stderr
    assert "  overhead/calls/torch.device('cuda')/ratio/native\n" in done.stderr


def test_figures_of_ranks_are_a_line(benchmarks: Any) -> None:
    fit = benchmarks("ranks").Fit.of({2: 9.0, 4: 11.0, 8: 15.0})
    assert (fit.alone, fit.each, fit.at(1024)) == (8, 1, 1031)


@pytest.mark.slow
def test_each_rank_measures_itself(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "ranks.py"),
        "--ranks",
        "2",
        "--ways",
        "torchada",
        "cpu",
        "--json",
        str(file),
    ]
    subprocess.run(command, check=True, capture_output=True, env={**clean_environment(), "PYTHONWARNINGS": "ignore"})
    measured = json.loads(file.read_text(encoding="utf-8"))
    ours, theirs = measured["torchada"]["2"], measured["cpu"]["2"]
    assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-5)
    assert ours["private_mib"] > 50 and ours["files"] > 3 and ours["keys"] > 0
