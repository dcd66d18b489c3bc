"""Which backend a process has: by what is installed, by TORCHADA_PLATFORM, and what is said where two are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter
from torchada.backends import select
from torchada.base.adapters import ADAPTERS

pytestmark = pytest.mark.once

# An adapter as torchada sees it before it is used: a package that is there.
ADAPTER = "import torch\nraise ImportError('a stand-in')\n"
ASK = "from torchada.backends import select; from torchada.base.settings import read; print(select.before_torch(read())[:2])"


@pytest.fixture
def machine(plain: Interpreter, tmp_path: Path) -> Interpreter:
    """A machine on which packages can be put into `packages`."""
    (tmp_path / "packages").mkdir()
    plain.env["PYTHONPATH"] = str(tmp_path / "packages")
    plain.cwd = tmp_path
    return plain


def install(machine: Interpreter, *adapters: str) -> None:
    assert machine.cwd is not None
    for adapter in adapters:
        (machine.cwd / "packages" / f"{adapter}.py").write_text(ADAPTER)


@pytest.mark.parametrize("name", ["musa", "npu", "mlu"])
def test_an_installed_adapter_is_chosen(machine: Interpreter, name: str) -> None:
    install(machine, f"torch_{name}")
    assert machine.run(ASK).stdout.strip() == str((name, f"torch_{name} is installed"))


def test_a_simulated_adapter_is_told_from_an_installed_one(machine: Interpreter) -> None:
    simulate = {"TORCHADA_SIMULATE": "1"}
    why = "TORCHADA_SIMULATE=1 and no real torch_musa is installed"
    assert machine.run(ASK, env=simulate).stdout.strip() == str(("musa", why))
    install(machine, "torch_musa")
    assert machine.run(ASK, env=simulate).stdout.strip() == str(("musa", "torch_musa is installed"))


def test_two_adapters_are_both_named_with_the_way_to_choose(machine: Interpreter) -> None:
    install(machine, "torch_musa", "torch_npu")
    done = machine.run(ASK)
    assert done.stdout.strip() == "('musa', 'torch_musa is installed')"
    assert "torch_musa and torch_npu are installed, and PyTorch has room for one: musa is used" in done.stderr
    assert "TORCHADA_PLATFORM=musa or TORCHADA_PLATFORM=npu chooses" in done.stderr
    for name in ("musa", "npu"):
        done = machine.run(ASK, env={"TORCHADA_PLATFORM": name})
        assert done.stdout.strip() == str((name, f"TORCHADA_PLATFORM={name}")) and done.stderr == ""


@pytest.mark.parametrize("name", ["xpu", "mps", "host"])
def test_what_every_torch_has_is_chosen_by_name_alone(machine: Interpreter, name: str) -> None:
    assert machine.run(ASK).stdout.startswith("('cuda or cpu'")
    assert machine.run(ASK, env={"TORCHADA_PLATFORM": name}).stdout.strip() == str((name, f"TORCHADA_PLATFORM={name}"))


def test_a_named_adapter_that_is_not_installed(machine: Interpreter) -> None:
    done = machine.run(ASK, env={"TORCHADA_PLATFORM": "npu"})
    assert "TORCHADA_PLATFORM=npu, but torch_npu is not installed: nothing is redirected" in done.stderr


@pytest.mark.parametrize("name", [*ADAPTERS, *select.BY_NAME_ONLY])
def test_each_backend_is_a_value_of_its_own_file(name: str) -> None:
    backend = select.find(name)
    assert backend is not None and backend.name == name
    assert ADAPTERS.get(name, backend.adapter) == backend.adapter


ROCM = """
    import sys, torch
    torch.version.hip = "6.4"  # a build for ROCm, whose GPUs are torch.cuda's
    torch.cuda.device_count = lambda: 1
    torch.cuda.is_available = lambda: True
    before = {name: dict(vars(owner)) for name, owner in (("Tensor", torch.Tensor), ("cuda", torch.cuda), ("torch", torch))}
    import torchada
    torchada.enable()
    for name, owner in (("Tensor", torch.Tensor), ("cuda", torch.cuda), ("torch", torch)):
        assert dict(vars(owner)) == before[name], name
    assert not torchada.is_patched() and torchada.detect_platform() is torchada.Platform.CUDA
    assert torch.device("cuda").type == "cuda"
"""


def test_rocm_needs_nothing_and_nothing_is_touched(machine: Interpreter) -> None:
    machine.run(ROCM)


def test_rocm_is_left_alone_where_an_adapter_is_installed(machine: Interpreter) -> None:
    """The choice is final once torch has been imported, and a torch that has usable GPUs of its own keeps them."""
    assert machine.cwd is not None
    (machine.cwd / "packages" / "torch_npu.py").write_text("import torch\n")
    code = """
        import torchada
        torchada.disable()
        import torch
        torch.version.hip = "6.4"
        torch.cuda.device_count = lambda: 1
        torchada.enable()
        print(torch.device("cuda").type, torchada.is_patched())
    """
    assert machine.run(code).stdout.split() == ["cuda", "False"]
