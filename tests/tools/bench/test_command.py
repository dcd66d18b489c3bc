"""`torchada bench`: its three forms, its choices and its exit codes. No figure is held: the simulator has none worth it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.json_schemas import validate
from torchada.report.pages import data_of
from torchada.tools.bench import text

BENCH = ["-m", "torchada", "bench"]
SHORT = ["--simulate", "--seconds", "0.1"]


@pytest.mark.slow
@pytest.mark.musa
@pytest.mark.once
def test_every_benchmark_is_measured_in_three_forms(musa: Interpreter, tmp_path: Path) -> None:
    files = ["--report", "out.html", "--report", "out.json"]
    found = json.loads(musa.run([*BENCH, *SHORT, "--json", *files], timeout=600).stdout)
    validate(found, "bench")
    assert found["ok"] and found["simulated"] and found["processor"]
    groups = {row["name"].partition(".")[0] for row in found["benchmarks"]}
    assert groups == {"matmul", "convolution", "attention", "elementwise", "reduction", "copy", "latency", "training"}
    for row in found["benchmarks"]:
        for side in ("device", "cpu", "ratio"):
            assert 0 < row[side]["low"] <= row[side]["median"] <= row[side]["high"] and row[side]["samples"] >= 3
    assert json.loads((tmp_path / "out.json").read_text()) == found
    page = (tmp_path / "out.html").read_text()
    assert json.loads(data_of(page)) == found and "say nothing about hardware" in page


@pytest.mark.musa
@pytest.mark.once
def test_the_text_has_ratios_with_their_range_and_says_what_a_simulator_is_worth(musa: Interpreter) -> None:
    out = musa.run([*BENCH, *SHORT, "--only", "latency"]).stdout
    assert "latency.launch" in out and "us/call" in out and " to " in out and "matmul" not in out
    assert out.strip().endswith(text.NO_MEANING)


@pytest.mark.once
def test_the_cpu_beside_itself_is_measured_without_a_device(plain: Interpreter) -> None:
    out = plain.run([*BENCH, "--on", "cpu", "--seconds", "0.1", "--only", "elementwise", "-v"]).stdout
    assert "elementwise" in out and "B/s" in out and text.NO_MEANING not in out


@pytest.mark.slow
@pytest.mark.musa
@pytest.mark.once
def test_one_that_fails_does_not_keep_the_others_from_being_measured(musa: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import wrapt\n"
        "@wrapt.when_imported('torch_battery.speed_table')\n"
        "def plant(module):\n"
        "    import torch\n"
        "    module.torch.mm = None\n"
    )
    path = ":".join(filter(None, [str(tmp_path), musa.env.get("PYTHONPATH")]))
    chosen = ["--only", "matmul.float32", "--only", "reduction", "--json"]
    done = musa.run([*BENCH, *SHORT, *chosen], env={"PYTHONPATH": path}, check=False)
    found = json.loads(done.stdout)
    validate(found, "bench")
    assert done.returncode == 1
    assert [row["outcome"] for row in found["benchmarks"]] == ["failed", "measured"]
    assert found["benchmarks"][0]["detail"].startswith("TypeError")


@pytest.mark.once
def test_without_a_device_the_command_says_so(plain: Interpreter) -> None:
    done = plain.run(BENCH, check=False)
    assert done.returncode == 2 and "torchada bench: there is no device" in done.stderr


@pytest.mark.once
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seconds", "0"], "expected seconds, more than 0 and up to 600, got '0'"),
        (["--only", "nothing"], "--only nothing: expected one of matmul.float32"),
    ],
)
def test_a_wrong_command_line_is_refused(plain: Interpreter, arguments: list[str], message: str) -> None:
    done = plain.run([*BENCH, *arguments], check=False)
    assert done.returncode == 2 and message in done.stderr and "usage: torchada bench" in done.stderr


@pytest.mark.once
@pytest.mark.parametrize(
    ("unit", "amount", "seconds", "shown"),
    [
        ("FLOP", 2e12, 1.0, "2 TFLOP/s"),
        ("B", 3e9, 2.0, "1.5 GB/s"),
        ("B", 5.0, 1.0, "5 B/s"),
        ("call", 1.0, 5e-6, "5 us/call"),
        ("step", 1.0, 0.25, "250 ms/step"),
    ],
)
def test_speeds_are_shown_in_units_that_fit(unit: str, amount: float, seconds: float, shown: str) -> None:
    assert text.speed({"unit": unit, "amount": amount, "device": {"median": seconds}}, "device") == shown
