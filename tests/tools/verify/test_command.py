"""`torchada verify`: levels, choices, its three forms, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.json_schemas import validate
from torchada.report.pages import data_of

VERIFY = ["-m", "torchada", "verify"]
FEW = ["--only", "pointwise.add", "--only", "streams.current", "--only", "memory.between_devices"]


@pytest.mark.full
@pytest.mark.musa
def test_the_quick_level_finds_no_fault(musa: Interpreter, tmp_path: Path) -> None:
    done = musa.run([*VERIFY, "--simulate", "--level", "quick", "--report", "out.json"], timeout=600)
    found = json.loads((tmp_path / "out.json").read_text())
    validate(found, "verify")
    assert found["ok"] and {check["outcome"] for check in found["checks"]} == {"passed"}
    assert len({check["group"] for check in found["checks"]}) == 22
    assert re.search(r"no fault found: \d+ passed in", done.stdout) and "nothing about hardware" in done.stdout
    assert done.stderr == ""


@pytest.mark.musa
@pytest.mark.slow
def test_the_full_level_finds_no_fault(musa: Interpreter, tmp_path: Path) -> None:
    musa.run([*VERIFY, "--simulate", "--level", "full", "--report", "out.json", "-q"], timeout=1200)
    found = json.loads((tmp_path / "out.json").read_text())
    validate(found, "verify")
    assert found["totals"]["passed"] == len(found["checks"]) > 2000


@pytest.mark.once
@pytest.mark.slow
def test_where_cuda_is_the_cpu_what_differs_is_documented(plain: Interpreter, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    plain.run([*VERIFY, "--on", "cpu", "--level", "standard", "--report", str(out), "-q"], timeout=1200)
    found = json.loads(out.read_text())
    validate(found, "verify")
    assert found["ok"] and found["platform"]["name"] == "host" and not found["simulated"]
    assert found["totals"]["unsupported"] < 20


@pytest.mark.musa
@pytest.mark.once
def test_one_report_is_text_json_and_a_page(musa: Interpreter, tmp_path: Path) -> None:
    files = ["--report", "out.html", "--report", "out.json"]
    printed = json.loads(musa.run([*VERIFY, "--simulate", *FEW, "--json", *files]).stdout)
    validate(printed, "verify")
    assert json.loads((tmp_path / "out.json").read_text()) == printed
    page = (tmp_path / "out.html").read_text()
    assert json.loads(data_of(page)) == printed
    assert "pointwise.add" in page and "No fault found" in page and "simulated" in page


@pytest.mark.slow
@pytest.mark.musa
@pytest.mark.once
def test_names_choose_groups_subjects_and_checks(musa: Interpreter) -> None:
    def listed(*arguments: str) -> list[str]:
        return musa.run([*VERIFY, "--simulate", "--list", *arguments]).stdout.split()

    assert listed("--only", "pointwise.add") == [f"pointwise.add.{dtype}" for dtype in ADDED]
    assert listed("--only", "pointwise.add", "--level", "quick") == ["pointwise.add.float32"]
    assert listed("--only", "pointwise.add.uint8", "--level", "quick") == ["pointwise.add.uint8"]
    quick, full = listed("--level", "quick"), listed("--level", "full")
    assert len(quick) < 100 < 1900 < len(full) and set(quick) < set(full) and len(set(full)) == len(full)
    assert {name.partition(".")[0] for name in listed("--only", "streams", "--only", "graphs")} == {"streams", "graphs"}


ADDED = ("float32", "float16", "bfloat16", "int64", "bool")


@pytest.mark.full
@pytest.mark.musa
@pytest.mark.once
def test_a_verbose_run_lists_every_check_and_a_quiet_one_the_last_line(musa: Interpreter) -> None:
    verbose = musa.run([*VERIFY, "--simulate", *FEW, "-v"]).stdout
    assert re.search(r"^  passed  pointwise.add.float32 +[0-9.e-]+ % of the tolerance$", verbose, re.MULTILINE)
    quiet = musa.run([*VERIFY, "--simulate", *FEW, "-q"]).stdout.strip().splitlines()
    assert quiet[0].startswith("no fault found: 7 passed") and len(quiet) == 2


@pytest.mark.full
@pytest.mark.musa
@pytest.mark.once
def test_what_needs_a_second_device_is_skipped_where_there_is_one(musa: Interpreter) -> None:
    done = musa.run([*VERIFY, "--simulate", *FEW], env={"MUSASIM_DEVICE_COUNT": "1"})
    assert "skipped  memory.between_devices: this needs 2 devices; here is one" in done.stdout


@pytest.mark.full
@pytest.mark.musa
@pytest.mark.once
def test_collectives_run_on_one_device_too(musa: Interpreter) -> None:
    chosen = ["--only", "collectives.all_reduce", "--only", "collectives.send_and_receive"]
    done = musa.run([*VERIFY, "--simulate", *chosen, "-q"], env={"MUSASIM_DEVICE_COUNT": "1"}, timeout=600)
    assert done.stdout.strip().startswith("no fault found: 2 passed")


@pytest.mark.once
def test_without_a_device_the_command_says_so(plain: Interpreter, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = plain.run([*VERIFY, "--report", str(out)], check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert "there is no device: torch.cuda.is_available() is False" in done.stderr and "--on cpu" in done.stderr
    found = json.loads(out.read_text())
    validate(found, "verify")
    assert found["device"] is None and found["checks"] == [] and not found["ok"]


@pytest.mark.full
@pytest.mark.once
def test_an_adapter_that_ends_the_process_is_a_result(plain: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "torch_musa.py").write_text("import ctypes\nctypes.string_at(0)\n")
    out = tmp_path / "out.json"
    done = plain.run([*VERIFY, "--report", str(out)], env={"PYTHONPATH": str(tmp_path)}, check=False)
    assert done.returncode == 2 and "the process was ended by SIGSEGV" in done.stderr
    validate(json.loads(out.read_text()), "verify")


@pytest.mark.once
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--level", "some"], "invalid choice: 'some'"),
        (["--only", "pointwize"], "--only pointwize: expected a group such as pointwise"),
        (["--report", "out.txt"], "expected a name that ends in .json or .html"),
        (["--on", "cpu", "--simulate"], "--on cpu does not go with --simulate"),
        (["--platform", "abacus"], "--platform abacus: expected one of"),
    ],
)
def test_a_wrong_command_line_is_refused(plain: Interpreter, arguments: list[str], message: str) -> None:
    done = plain.run([*VERIFY, *arguments], check=False)
    assert done.returncode == 2 and message in done.stderr and "usage: torchada verify" in done.stderr


@pytest.mark.once
def test_the_battery_sees_cuda(plain: Interpreter) -> None:
    """Its sources name neither another device nor torchada; otherwise its programs would not be CUDA's."""
    done = plain.run(["-m", "torchada", "views", "torch_battery"])
    assert done.stdout.split()[:2] == ["torch_battery", "cuda"]
