"""Environments that are broken in ways that are seen in the field: each is named, with a cure; after the cure, doctor is healthy.

Those of Python are real: a virtual environment is broken, `torchada doctor` is run in it, the cure is applied, and it is run again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import torchada
from cli.test_schemas import validate
from tools.doctor.conftest import LINE, Environment
from views.test_elf import library

pytestmark = [pytest.mark.once]

Make = Callable[..., Environment]


def problems(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Errors and warnings by their names."""
    return {each["check"]: each for each in found["results"] if each["severity"] in ("error", "warning")}


def is_ill(environment: Environment, name: str, said: str, cure: str, **options: Any) -> None:
    """The doctor names the illness, and nothing else is wrong."""
    code, found = environment.doctor(**options)
    validate(found, "doctor")
    assert problems(found).keys() == {name} and (code, found["healthy"]) == (1, False)
    assert said in problems(found)[name]["text"] and cure in problems(found)[name]["cure"]


def is_healthy(environment: Environment, **options: Any) -> None:
    code, found = environment.doctor(**options)
    assert problems(found) == {} and (code, found["healthy"]) == (0, True)


def test_a_healthy_environment_is_healthy(environment: Make) -> None:
    is_healthy(environment())


@pytest.mark.musa
@pytest.mark.slow
def test_the_simulator_is_healthy(environment: Make) -> None:
    code, found = environment(TORCHADA_SIMULATE="1").doctor()
    told = {each["check"]: each["text"] for each in found["results"]}
    assert problems(found) == {} and code == 0
    assert "simulated" in told["adapter"] and told["devices"].startswith("2: ")


@pytest.mark.full
def test_1_torch_cannot_be_imported(environment: Make) -> None:
    made = environment()
    broken = made.site / "torch"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise OSError('libtorch_cpu.so: file too short')")
    is_ill(made, "torch-broken", "libtorch_cpu.so: file too short", "pip install --force-reinstall torch==")
    shutil.rmtree(broken)  # what the reinstallation replaces
    is_healthy(made)


@pytest.mark.slow
def test_2_importing_torch_hangs(environment: Make) -> None:
    made = environment()
    (made.site / "torch.py").write_text("import time; time.sleep(600)")
    _, found = made.doctor("--timeout", "3")
    assert problems(found).keys() == {"torch-hangs"} and "within 3 seconds" in problems(found)["torch-hangs"]["text"]
    (made.site / "torch.py").unlink()
    is_healthy(made)


@pytest.mark.slow
def test_3_a_file_of_the_current_folder_hides_torch(environment: Make, tmp_path: Path) -> None:
    made, here = environment(), tmp_path / "work"
    here.mkdir()
    (here / "torch.py").write_text("raise SystemExit('executed')")
    is_ill(made, "torch-hidden", str(here / "torch.py"), "rename it", cwd=here)
    (here / "torch.py").rename(here / "my_torch.py")
    is_healthy(made, cwd=here)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("libmusa.so.1.0: undefined symbol: PVRSRVGetDevInfo", "driver and the MUSA SDK are of different releases"),
        ("libmusa_kernels.so: undefined symbol: _ZN2at18_GeneratorRegisterC1E", "built for another torch"),
        (
            "libmudnn.so.2: cannot open shared object file: No such file or directory",
            "library of the MUSA SDK is not found",
        ),
    ],
)
@pytest.mark.slow
def test_4_the_adapter_cannot_be_imported(environment: Make, error: str, said: str) -> None:
    made = environment()
    lines = ["try:", f"    raise ImportError({error!r})", "except ImportError as e:"]
    code = "\n".join([*lines, "    raise ImportError('Please try running Python from a different directory!') from e"])
    metadata = made.install("torch_musa", "2.7.1", code)
    _, found = made.doctor()
    result = problems(found)["adapter-broken"]
    assert said in result["text"] and error in result["text"]
    assert result["cure"] and result["source"].startswith("https://github.com/MooreThreads/torch_musa")
    shutil.rmtree(metadata)
    shutil.rmtree(made.site / "torch_musa")
    is_healthy(made)


@pytest.mark.slow
def test_5_there_is_no_startup_file(environment: Make) -> None:
    made = environment()
    made.start_file.unlink()
    is_ill(made, "startup-absent", "there is none", "pip install --force-reinstall --no-deps torchada")
    made.start_file.write_text(LINE)  # what the installation writes
    is_healthy(made)


@pytest.mark.slow
def test_6_the_startup_file_is_damaged(environment: Make) -> None:
    made = environment()
    made.start_file.write_text("# nothing\n")
    is_ill(made, "startup-broken", "it does not name _torchada_startup", "remove it")
    made.start_file.write_text(LINE)
    is_healthy(made)


@pytest.mark.slow
def test_7_another_torchada_is_installed(environment: Make) -> None:
    made = environment()
    other = made.folder / "other"
    (other / "torchada-0.1.103.dist-info").mkdir(parents=True)
    (other / "torchada-0.1.103.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torchada\nVersion: 0.1.103\n"
    )
    path = {"PYTHONPATH": str(other)}
    is_ill(made, "torchada-twice", f"0.1.103 in {other}", "see PYTHONPATH", env=path)
    is_healthy(made)


@pytest.mark.slow
def test_8_transfer_to_npu_is_active(environment: Make) -> None:
    made = environment()
    contrib = made.site / "torch_npu" / "contrib"
    contrib.mkdir(parents=True)
    for file in (contrib.parent / "__init__.py", contrib / "__init__.py", contrib / "transfer_to_npu.py"):
        file.write_text("")
    line = made.site / "zz_npu.pth"
    line.write_text("import torch_npu.contrib.transfer_to_npu\n")
    code, found = made.doctor()
    ills = problems(found)
    # The stand-in for torch_npu is empty, so it is a broken adapter as well.
    assert code == 1 and ills.keys() - {"adapter-broken", "problem"} == {"transfer-to-npu"}
    ill = ills["transfer-to-npu"]
    assert "redirects torch.cuda to Ascend" in ill["text"] and ".pth" in ill["cure"]
    line.unlink()
    assert "transfer-to-npu" not in problems(made.doctor()[1])


@pytest.mark.slow
def test_9_torchvision_is_for_cuda(environment: Make) -> None:
    with torchada.disabled():
        if torch.version.cuda is not None:
            pytest.skip("this torch is for CUDA as well")
    made = environment()
    for each in (made.folder / "borrowed").glob("torchvision*"):
        each.unlink()
    metadata = made.install("torchvision", "0.28.0", "")
    (made.site / "torchvision" / "_C.so").write_bytes(library(["libcudart.so.12"], is_64=True, order="<"))
    is_ill(made, "companion-cuda", "its libraries need libcudart.so.12", "pip install --force-reinstall --no-deps")
    (made.site / "torchvision" / "_C.so").unlink()
    shutil.rmtree(metadata)
    made.install("torchvision", "0.28.0+cpu", "")
    is_healthy(made)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "module"), [("cuda-morph", "ascend_compat"), ("TorchDevice", "TorchDevice")])
def test_10_another_redirection_is_installed(environment: Make, name: str, module: str) -> None:
    made = environment()
    made.install(name, "0.9.1")
    (made.site / module).mkdir(exist_ok=True)
    (made.site / module / "__init__.py").write_text("")
    is_ill(made, "other-redirection", "0.9.1 is installed, and replaces parts of torch.cuda", "do not activate it")
    shutil.rmtree(made.site / module)
    is_healthy(made)


@pytest.mark.slow
def test_pypis_torchdevice_is_another_project(environment: Make) -> None:
    made = environment()
    made.install("torchdevice", "0.1.3", "")
    is_healthy(made)


NO_HCCL = "raise ImportError('libhccl.so: cannot open shared object file: No such file or directory')\n"


@pytest.mark.slow
def test_torch_npu_on_a_machine_without_an_ascend_device(environment: Make) -> None:
    """torch itself loads every adapter that is installed, and raises an error where the libraries of its driver are missing."""
    made = environment()
    metadata = made.install("torch_npu", "2.13.0", NO_HCCL)
    (metadata / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    _, found = made.doctor()
    said = problems(found)
    assert said.keys() == {"autoload", "adapter-broken"}
    assert "torch loads torch_npu by itself" in said["autoload"]["text"]
    assert "a library of CANN" in said["adapter-broken"]["text"] and "set_env.sh" in said["adapter-broken"]["cure"]
    made.env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    said = problems(made.doctor()[1])
    assert said.keys() == {"adapter-broken", "problem"} and "libhccl.so" in said["adapter-broken"]["text"]
    assert "there is no npu device" in said["problem"]["text"]
    shutil.rmtree(metadata)
    shutil.rmtree(made.site / "torch_npu")
    is_healthy(made)


@pytest.mark.slow
def test_11_a_variable_is_misspelled(environment: Make) -> None:
    made = environment()
    is_ill(made, "variable-unknown", "TORCHADA_SIMULAT ", "unset TORCHADA_SIMULAT", env={"TORCHADA_SIMULAT": "1"})
    is_ill(
        made, "variable-not-understood", "TORCHADA_NATIVE='maybe'", "environment.md", env={"TORCHADA_NATIVE": "maybe"}
    )
    is_ill(made, "disabled", "nothing is redirected", "unset TORCHADA_DISABLE", env={"TORCHADA_DISABLE": "1"})
    is_healthy(made)


@pytest.mark.musa
@pytest.mark.slow
def test_12_the_devices_are_hidden(environment: Make) -> None:
    made = environment(TORCHADA_SIMULATE="1")
    is_ill(
        made,
        "devices-hidden",
        "MUSA_VISIBLE_DEVICES=-1",
        "unset MUSA_VISIBLE_DEVICES",
        env={"MUSA_VISIBLE_DEVICES": "-1"},
    )
    is_healthy(made)


@pytest.mark.slow
def test_torch_is_not_installed(environment: Make) -> None:
    made = environment()
    borrowed = made.folder / "borrowed"
    kept = {each: os.readlink(each) for each in [borrowed / "torch", *borrowed.glob("torch-*")]}
    for each in kept:
        each.unlink()
    is_ill(made, "torch-absent", "not installed", "pip install torch")
    for each, target in kept.items():
        each.symlink_to(target)
    is_healthy(made)
