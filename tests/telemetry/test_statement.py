"""`torchada run --report out.md`: how each operator was computed, as text that can be attached to a pull request."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter
from torchada.telemetry import report, statement

pytestmark = pytest.mark.once

SECRET = "nobodys-business"
WHERE = {"file": f"/{SECRET}/train.py", "function": SECRET, "package": SECRET, "through": SECRET, "source": SECRET}


def process(pid: int = 1, **counts: Any) -> dict[str, Any]:
    known = {
        "torch": "2.13.0",
        "adapter": "torch_musa 2.7.1",
        "torchada": "0.2.0",
        "python": "3.11.7",
        "backend": "musa",
    }
    place = {"host": SECRET, "folder": f"/{SECRET}", "command": ["train.py", SECRET], "simulated": True}
    computed: dict[str, Any] = {"on_device": {}, "kernels": {}, "mended": {}, "cpu_fallbacks": {}}
    return {"pid": pid, "parent": 0, "started": 1.0, "ended": 2.0, **known, **place, **computed, **counts}


def use(**fields: Any) -> dict[str, Any]:
    return {"api": "torch.cuda.synchronize", "kind": "same", "to": "x", "count": 2, "line": 3, **WHERE, **fields}


def document(*processes: dict[str, Any], uses: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    made = report.empty([f"/{SECRET}/train.py", SECRET], f"/{SECRET}")
    for one in processes:
        report.add(made, one, uses or [use()])
    return made


def written(made: dict[str, Any]) -> str:
    return statement.markdown(made, report.published(made))


def test_operators_are_listed_by_how_they_were_computed() -> None:
    ways = {
        "on_device": {"aten::mm": 3, "aten::sum": 1},
        "cpu_fallbacks": {"aten::histc": 2},
        "mended": {"aten::log_": 1},
    }
    lines = written(document(process(**ways), process(2, on_device={"aten::mm": 1000}))).splitlines()
    assert "| operators on the device | 2 | 1,004 | aten::mm 1,003, aten::sum 1 |" in lines
    assert "| operators on the CPU, with copies there and back | `aten::histc` | 2 |" in lines
    assert "| operators mended | `aten::log_` | 1 |" in lines
    assert "| kernels of the program | 0 | 0 |  |" in lines
    assert any(line.startswith("| the CPU's | the numbers: rounding") for line in lines)
    assert (
        "torch 2.13.0, torch_musa 2.7.1, simulated, torchada 0.2.0, Python 3.11.7; 2 processes; 4 calls of 1 API of CUDA"
        in (written(document(process(), process(2))))
    )


def test_what_hardware_computed_is_not_called_counted() -> None:
    text = written(document(process(simulated=False, on_device=None, kernels=None)))
    assert "| operators on the device | - | - | not counted on hardware |" in text
    assert "not simulated" not in text and "every operator that is not listed" in text


def test_an_api_that_was_refused_is_named() -> None:
    text = written(document(process(), uses=(use(kind="unsupported", api="torch.cuda.jiterator"),)))
    assert "Refused with an error: `torch.cuda.jiterator`." in text and "1 API of CUDA, 2 refused" in text


def test_nothing_tells_who_ran_it_and_where() -> None:
    assert SECRET not in written(document(process(), process(2)))


def test_a_name_of_an_operator_is_no_markup() -> None:
    text = written(document(process(kernels={"a|b`<script>-->": 1})))
    assert "a b script -- " in text and "<script>" not in text and text.count("-->") == 1


def test_a_program_in_which_nothing_is_redirected_has_no_numbers() -> None:
    text = written(report.empty(["train.py"], inactive="no adapter module is installed"))
    assert (
        "torchada was inactive, so nothing could be recorded: no adapter module is installed." in text
        and "|" not in text
    )


def test_processes_add_to_a_statement_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "out.md")
    report.store([path], report.empty(["train.py"]))
    report.merge([path], process(on_device={"aten::mm": 1}), [use()])
    report.merge([path], process(2, on_device={"aten::mm": 2}), [use(line=9, file="/elsewhere.py")])
    report.merge([path], process(on_device={"aten::mm": 4}), [use()])
    found = report.load(path)
    assert [one["on_device"] for one in found["processes"]] == [{"aten::mm": 4}, {"aten::mm": 2}]
    assert [(one["count"], one["processes"]) for one in found["uses"]] == [(6, [0, 1])]


@pytest.mark.parametrize("order", [("out.md", "out.json"), ("out.json", "out.md")])
def test_a_report_beside_a_statement_keeps_its_lines(tmp_path: Path, order: tuple[str, str]) -> None:
    paths = [str(tmp_path / name) for name in order]
    report.store(paths, report.empty(["train.py"]))
    for pid in (1, 2):
        report.merge(paths, process(pid), [use()])
    assert [one["file"] for one in report.load(str(tmp_path / "out.json"))["uses"]] == [WHERE["file"]]


@pytest.mark.musa
def test_run_writes_what_a_program_computed(musa: Interpreter, tmp_path: Path) -> None:
    code = """
    import torch
    x = torch.ones(4, 4, device="cuda")
    (x @ x).sum()
    torch.logcumsumexp(x, 0)
    """
    (tmp_path / "train.py").write_text(inspect.cleandoc(code))
    musa.run(["-m", "torchada", "run", "-q", "--report", "out.md", "train.py"], env={"MUSASIM_RELEASE": "2.7.1"})
    text = (tmp_path / "out.md").read_text()
    assert text.startswith("### How `train.py` was computed") and "| operators on the device | `aten::mm` | 1 |" in text
    assert "| operators on the CPU, with copies there and back | 1 | 1 | aten::_logcumsumexp 1 |" in text
