"""The host has to be asked for: by name, or by `torchada run --on cpu`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter

pytestmark = pytest.mark.once

ASK = "import torch; print(torch.cuda.is_available(), torch.zeros(1, device='cuda').device)"


def test_nobody_gets_it_without_asking(plain: Interpreter) -> None:
    done = plain.run("import sys, torch; print(torch.cuda.is_available(), 'torch_host' in sys.modules)")
    assert done.stdout.split() == ["False", "False"]


def test_the_command_line(plain: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ASK)
    done = plain.run(["-m", "torchada", "run", "--on", "cpu", str(tmp_path / "program.py")])
    assert done.stdout.split() == ["True", "cuda:0"]


@pytest.mark.parametrize("other", [["--simulate"], ["--platform", "musa"]])
def test_two_platforms_are_refused(plain: Interpreter, other: list[str]) -> None:
    done = plain.run(["-m", "torchada", "run", "--on", "cpu", *other, "-c", ASK], check=False)
    assert done.returncode == 2
    assert f"--on cpu does not go with {other[0]}" in done.stderr


@pytest.mark.full
def test_an_adapter_whose_driver_is_missing_is_left_out(host: Interpreter, tmp_path: Path) -> None:
    """torch loads every adapter that is installed while it is imported, and fails with it."""
    (tmp_path / "torch_npu.py").write_text("raise ImportError('libhccl.so: cannot open shared object file')\n")
    metadata = tmp_path / "torch_npu-2.13.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_npu\nVersion: 2.13.0\n")
    (metadata / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    ask = f"{ASK}; import os; print('TORCH_DEVICE_BACKEND_AUTOLOAD' in os.environ)"
    path = {"PYTHONPATH": str(tmp_path)}
    assert host.run(ask, env=path).stdout.split() == ["True", "cuda:0", "False"]
    users = host.run("import torch", env={**path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}, check=False)
    assert "Failed to load the backend extension: torch_npu" in users.stderr


def test_status_names_it(host: Interpreter) -> None:
    status = host.json("import json, torch; from torchada.control.status import report; print(json.dumps(report()))")
    assert status["platform"]["name"] == "host"
    assert status["problems"] == []
    skipped = {area["name"]: area["reason"] for area in status["areas"] if area["outcome"] == "skipped"}
    assert skipped["tensors.device"] == "the platform host answers for this itself"
    assert not [area["name"] for area in status["areas"] if area["outcome"] == "failed"]


def test_no_compiler_is_needed(host: Interpreter) -> None:
    """Neither are the parts in C that an installation with a compiler has."""
    code = """
        import sys
        import torch
        torch.zeros(2, device="cuda").cpu()
        assert not [name for name in sys.modules if name.startswith("torchada.redirect.native._device")]
    """
    host.run(code, env={"PATH": "", "CC": "/nowhere"})


def test_a_backend_cannot_be_mistaken_for_it(host: Interpreter) -> None:
    done = host.run("import torch", env={"TORCHADA_PLATFORM": "hosts", "TORCHADA_STRICT": "0"})
    assert "names no backend; expected auto, musa, npu, mlu, host, xpu, mps, cuda, cpu" in done.stderr


def test_disabling_leaves_nothing(host: Interpreter) -> None:
    """The program is a module of its own, because code that mentions the name of this package sees no CUDA."""
    code = """
        import torch, torchada
        before = {name: dict(vars(each)) for name, each in (("Tensor", torch.Tensor), ("cuda", torch.cuda))}
        torchada.disable()
        assert "device" not in vars(torch.Tensor) and "is_cuda" not in vars(torch.Tensor)
        assert not torch.cuda.is_available()
        x = torch.zeros(2)
        assert x.cpu() is x and torch.zeros(2).to("cpu").device.type == "cpu"
        try:
            torch.zeros(2, device="cuda")
        except (AssertionError, RuntimeError) as error:
            assert "CUDA" in str(error) or "NVIDIA" in str(error)  # a torch for CUDA misses the driver
        else:
            raise SystemExit("made a tensor on a device that does not exist")
        torchada.enable()
        assert {name for name, entry in vars(torch.Tensor).items() if entry is not before["Tensor"].get(name)} == set()
    """
    host.run(code)


def test_the_example(plain: Interpreter, tmp_path: Path) -> None:
    plain.cwd = tmp_path
    example = str(ROOT / "docs" / "examples" / "train_digits.py")
    done = plain.run(["-m", "torchada", "run", "--on", "cpu", example, "--epochs", "2"])
    accuracy = float(done.stdout.split("Test accuracy: ")[1].partition("%")[0])
    assert accuracy > 95
    assert "cuda:0" in done.stdout.strip().splitlines()[-1]
