"""`python -m outside trainings`: a loss that is not the control's, a step that is lacking and a program that fails are told."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from outside.trainings import score, table
from outside.trainings.table import GIVEN, HERE, Run, Training

pytestmark = pytest.mark.once

PROGRAM = """
import os, sys
for step, loss in enumerate(sys.argv[1:], 1):
    print(f"step {step}: loss {loss}")
print("simulated" if os.environ.get("TORCHADA_SIMULATE") else "plain", os.environ.get("TORCHADA_DISABLE"))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def training(*runs: str, control: str, needs: tuple[str, ...] = (), github: str = "") -> Training:
    return Training(
        "any",
        "torch",
        "",
        tuple(map(Run, runs)),
        (Run(control),),
        r"step (?P<step>\d+): loss (?P<loss>\S+)",
        needs,
        github=github,
        commit="0123456789",
    )


def outcome(one: Training, folder: Path) -> score.Outcome:
    return score.outcome(one, folder, folder / "results", seconds=60)


def test_a_training_and_its_control_see_different_machines(program: Path, tmp_path: Path) -> None:
    done = outcome(training(f"{program} 2.0 1.5", control=f"{program} 2.00001 1.5"), tmp_path)
    assert done.is_right and done.apart == pytest.approx(5e-6, rel=0.01)
    assert "the same" in done.row and "2 to 1.5 in 2 steps" in done.row
    kept = {side: (tmp_path / "results" / side / "0.log").read_text() for side in ("device", "control")}
    assert "simulated None" in kept["device"] and "plain 1" in kept["control"]


def test_a_training_does_not_go_on_from_the_files_of_an_earlier_run(program: Path, tmp_path: Path) -> None:
    goes_on = tmp_path / "goes_on.py"
    goes_on.write_text("open('kept', 'x').close(); print('step 1: loss 2.0')")
    results = [outcome(training(str(goes_on), control=f"{program} 2.0"), tmp_path) for _ in range(2)]
    assert [each.is_right for each in results] == [True, True], results[1].why


@pytest.mark.parametrize("losses", ["2.0 1.6", "2.0", "2.0 1.5 1.2", "", "2.0 nan"])
def test_what_differs_from_the_control_is_not_right(program: Path, tmp_path: Path, losses: str) -> None:
    done = outcome(training(f"{program} {losses}", control=f"{program} 2.0 1.5"), tmp_path)
    assert not done.is_right and "they differ" in done.row


def test_each_run_of_a_step_is_compared(program: Path, tmp_path: Path) -> None:
    """Of a checkpoint that is loaded twice, both continuations have to be right."""
    good, bad = f"{program} 2.0 1.5", f"{program} 2.0 1.4"
    assert outcome(training(good, good, control=good), tmp_path).is_right
    assert not outcome(training(good, bad, control=good), tmp_path).is_right


def test_a_program_that_fails_is_told_with_the_place_of_its_output(program: Path, tmp_path: Path) -> None:
    failing = tmp_path / "failing.py"
    failing.write_text("print('step 1: loss 2.0'); raise SystemExit(3)")
    done = outcome(training(str(failing), str(program), control=f"{program} 2.0"), tmp_path)
    assert not done.is_right and "device: exit code 3" in done.row
    assert str(tmp_path / "results" / "device" / "0.log") in done.why
    assert not (tmp_path / "results" / "device" / "1.log").exists()


def test_a_program_that_hangs_is_ended(tmp_path: Path, program: Path) -> None:
    hanging = tmp_path / "hanging.py"
    hanging.write_text("import time; print('here', flush=True); time.sleep(600)")
    done = score.outcome(training(str(hanging), control=f"{program} 2.0"), tmp_path, tmp_path / "results", seconds=3)
    assert "device: no end in time" in done.why
    assert "no end after 3 s" in (tmp_path / "results" / "device" / "0.log").read_text()


def test_what_cannot_be_run_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lacking = training("a.py", control="b.py", needs=("no_such_module",))
    without = training("a.py", control="b.py", github="owner/project")
    other = replace(training("a.py", control="b.py"), release="0.1")
    assert score.run(tmp_path, tmp_path / "results", 5, "", [lacking, without, other]) == 1
    told = capsys.readouterr().out
    assert "not run: it imports no_such_module, which cannot be imported here" in told
    assert f"not run: it is for torch 0.1, and {version('torch')} is installed" in told
    assert f"not run: no checkout {tmp_path / 'project'} (https://github.com/owner/project at 0123456789)" in told


def test_the_settings_of_this_process_do_not_reach_a_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHADA_CUDA_VIEW", "everything")
    monkeypatch.setenv("TORCHADA_NATIVE", "0")
    env = score.environment(training("a.py", control="b.py"), plain=False)
    assert "TORCHADA_CUDA_VIEW" not in env and env["TORCHADA_NATIVE"] == "0"
    assert env["PYTHONPATH"].split(os.pathsep)[0] == str(GIVEN)


def test_the_table_names_files_that_are_here() -> None:
    rows = table.read()
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        assert row.shows and re.compile(row.loss).groupindex.keys() >= {"step", "loss"}
        for run in (*row.runs, *row.control):
            words = [
                word.replace("{given}", str(GIVEN)).replace("{here}", str(HERE)) for word in shlex.split(run.words)
            ]
            assert all("{" not in word.replace("{checkout}", "").replace("{work}", "") for word in words), run.words
            for word in words:
                assert not word.startswith(str(HERE)) or Path(word).is_file(), word


def test_the_controls_names_of_cuda_take_their_arguments_by_name_too(tmp_path: Path) -> None:
    """Megatron keeps the generator's state with device=."""
    program = tmp_path / "keeps.py"
    program.write_text(
        "import torch; state = torch.cuda.get_rng_state(device='cuda'); first = torch.rand(3, device='cuda')\n"
        "torch.cuda.set_rng_state(new_state=state, device='cuda'); again = torch.rand(3, device='cuda')\n"
        "assert first.type() == 'torch.cuda.FloatTensor'\n"
        "print('step 1: loss', 1.0 + float((first - again).abs().sum()) + torch.cuda.memory_allocated(device=0))\n"
    )
    plain = tmp_path / "plain.py"
    plain.write_text("print('step 1: loss 1.0')")
    one = training(str(plain), control=f"{HERE / 'on_the_cpu.py'} {program}")
    done = outcome(one, tmp_path)
    assert done.is_right, done.why + (tmp_path / "results" / "control" / "0.log").read_text()


DRAWS = """
import sys, torch, torch.nn.functional as F
class Made(torch.Tensor):
    pass  # as ShardedTensor, whose class refuses what it does not know
def on_gpu():  # as many draws as a framework likes; none of them is to be seen on the CPU
    made = torch.nn.Linear(4, 4).cuda()
    torch.manual_seed(3)
    torch.rand(5, device="cuda:0"); torch.randn(2, device=torch.cuda.current_device())
    on_cpu = torch.ones(8)
    moved = on_cpu.cuda()
    F.dropout(moved, 0.5); moved.view(2, 4).normal_(); torch.rand_like(made.weight.detach())
    assert (on_cpu == 1).all() and (on_cpu.to("cuda").zero_() == 0).all() and (on_cpu == 1).all()
    back = moved.cpu()
    on_cpu.copy_(moved)
    strange = torch.Tensor._make_subclass(Made, on_cpu)
    known = {"neg": 7, "__get__": torch.strided}
    Made.__torch_function__ = classmethod(lambda cls, function, *rest: known.get(function.__name__, NotImplemented))
    assert torch.neg(strange) == 7
    return on_cpu, back
torch.manual_seed(3)
on_cpu = back = torch.ones(8)
if sys.argv[1] == "gpu":
    on_cpu, back = on_gpu()
print("step 1: loss", float(torch.rand(1)))
F.dropout(on_cpu, 0.5); back.uniform_()
print("step 2: loss", float(torch.rand(1)))
"""


@pytest.mark.full
def test_what_the_control_draws_on_its_gpu_leaves_the_cpus_numbers_alone(tmp_path: Path) -> None:
    """As beside a GPU. Megatron draws there before it makes its weights on the CPU."""
    program = tmp_path / "draws.py"
    program.write_text(DRAWS)
    done = outcome(training(f"{program} cpu", control=f"{HERE / 'on_the_cpu.py'} {program} gpu"), tmp_path)
    assert done.is_right, done.row + (tmp_path / "results" / "control" / "0.log").read_text()


def test_the_controls_gpu_has_one_generator(tmp_path: Path) -> None:
    program = tmp_path / "seeds.py"
    program.write_text(
        "import torch\n"
        "torch.cuda.manual_seed(5); first = torch.rand(3, device='cuda')\n"
        "state = torch.cuda.default_generators[0].get_state(); second = torch.rand(3, device='cuda')\n"
        "torch.manual_seed(5); again = torch.rand(3, device='cuda')\n"
        "torch.cuda.set_rng_state(state); same = torch.rand(3, device='cuda')\n"
        "assert not (first == second).any()\n"
        "print('step 1: loss', 1.0 + float((first - again).abs().sum() + (second - same).abs().sum()))\n"
    )
    plain = tmp_path / "plain.py"
    plain.write_text("print('step 1: loss 1.0')")
    done = outcome(training(str(plain), control=f"{HERE / 'on_the_cpu.py'} {program}"), tmp_path)
    assert done.is_right, done.row + (tmp_path / "results" / "control" / "0.log").read_text()
