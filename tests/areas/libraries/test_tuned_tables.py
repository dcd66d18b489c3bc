"""The folder for tables that were tuned for a chip. Empty modules stand in for those of SGLang and vLLM that read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.tiers import rarely

QUICK = True
pytestmark = pytest.mark.once

SGLANG = "sglang.srt.layers.moe.moe_runner.triton_utils.fused_moe_triton_config"
VLLM = "vllm.model_executor.layers.fused_moe.fused_moe"
TABLE = "E=8,N=64,device_name={},dtype=fp8_w8a8.json"
THIS, OTHER = "MTT_S5000_(simulated)", "MTT_S4000"
PROGRAM = """
import importlib, json, os, sys
import torch, torchada
importlib.import_module(sys.argv[1])
before = os.environ.get(sys.argv[2])
initialised = torch.cuda.is_initialized()
torchada.disable()
print(json.dumps([before, os.environ.get(sys.argv[2]), initialised]))
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Packages of which nothing matters but that they can be imported."""
    place = tmp_path / "packages"
    for name in (SGLANG, VLLM):
        folder = place
        for part in name.split(".")[:-1]:
            folder = folder / part
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "__init__.py").touch()
        (folder / f"{name.rpartition('.')[2]}.py").touch()
    information = place / "triton-3.2.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: triton\nVersion: 3.2.0+git1\n")
    return place


def _tables(tmp_path: Path, version: str, chip: str) -> Path:
    folder = tmp_path / "tuned"
    (folder / "configs" / version).mkdir(parents=True)
    (folder / "configs" / version / TABLE.format(chip)).write_text("{}")
    return folder


def _variable(musa: Interpreter, packages: Path, module: str, folder: Path, **more: str) -> list[object]:
    name = "SGLANG_MOE_CONFIG_DIR" if module == SGLANG else "VLLM_TUNED_CONFIG_FOLDER"
    env = {"PYTHONPATH": str(packages), "TORCHADA_TUNED_TABLES": str(folder), **more}
    found: list[object] = musa.json(["-c", PROGRAM, module, name], env=env)
    return found


@pytest.mark.full
def test_tables_for_this_chip(musa: Interpreter, packages: Path, tmp_path: Path) -> None:
    folder = _tables(tmp_path, "triton_3_2_0", THIS)
    assert _variable(musa, packages, SGLANG, folder) == [str(folder), None, True]
    of_version = str(folder / "configs" / "triton_3_2_0")
    assert _variable(musa, packages, VLLM, folder) == [of_version, None, True]


@pytest.mark.slow
def test_tables_of_another_version_of_triton(musa: Interpreter, packages: Path, tmp_path: Path) -> None:
    """SGLang chooses among versions by itself."""
    folder = _tables(tmp_path, "triton_3_1_0", THIS)
    assert _variable(musa, packages, SGLANG, folder)[0] == str(folder)
    assert _variable(musa, packages, VLLM, folder)[0] is None


@pytest.mark.full
@pytest.mark.parametrize("module", rarely([SGLANG, VLLM], VLLM))
def test_nothing_is_set_without_a_table_for_this_chip(
    musa: Interpreter, packages: Path, tmp_path: Path, module: str
) -> None:
    assert _variable(musa, packages, module, tmp_path / "absent") == [None, None, False]
    folder = _tables(tmp_path, "triton_3_2_0", OTHER)
    assert _variable(musa, packages, module, folder)[0] is None


def test_what_the_user_has_set_stays(musa: Interpreter, packages: Path, tmp_path: Path) -> None:
    folder = _tables(tmp_path, "triton_3_2_0", THIS)
    found = _variable(musa, packages, SGLANG, folder, SGLANG_MOE_CONFIG_DIR="/mine")
    assert found[:2] == ["/mine", "/mine"]


def test_the_folder_of_the_user(musa: Interpreter, packages: Path, tmp_path: Path) -> None:
    (tmp_path / "torchada").mkdir()
    folder = _tables(tmp_path / "torchada", "triton_3_2_0", THIS)
    found = _variable(musa, packages, SGLANG, Path(""), TORCHADA_TUNED_TABLES="", XDG_DATA_HOME=str(tmp_path))
    assert found[0] == str(folder)
