"""vLLM with the plug-in vllm-musa, both from PyPI and unchanged, generates the very tokens that transformers gives on the CPU.

The plug-in itself adapts vLLM's installed sources when it is loaded. docs/how-to/vllm.md names the versions that were tried.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter

NEEDS = ("vllm", "vllm_musa_platform", "transformers", "torchvision", "triton")
PROGRAMS = Path(__file__).parent / "programs"
WAYS: dict[str, tuple[list[str], dict[str, str]]] = {
    "native": ([], {"TORCHADA_NATIVE": "1"}),
    "portable": ([], {"TORCHADA_NATIVE": "0"}),
    "torchada run": (["-m", "torchada", "run"], {}),
}
# vLLM starts its workers anew where the device is in use, and says what it does on the standard output.
COMMON = {"HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder of a model, and what transformers generates with it."""
    folder = tmp_path_factory.mktemp("llama")
    plain = Interpreter(env={"TORCHADA_DISABLE": "1", "HF_HUB_OFFLINE": "1"})
    return folder, plain.json([str(PROGRAMS / "sglang_model.py"), str(folder)], timeout=900)


def _run(musa: Interpreter, way: str, program: str, *arguments: str, **env: str) -> tuple[Any, str]:
    prefix, switches = WAYS[way]
    command = [*prefix, str(PROGRAMS / program), *arguments]
    done = musa.run(command, env={**COMMON, **switches, **env}, timeout=1800)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("{", '"'))]
    return json.loads(lines[-1]), done.stdout + done.stderr


def _generate(
    musa: Interpreter, model: tuple[Path, Any], way: str, options: dict[str, Any], **env: str
) -> tuple[Any, str]:
    folder, wanted = model
    arguments = (str(folder), json.dumps(wanted["prompts"]), json.dumps(options))
    said, log = _run(musa, way, "vllm_engine.py", *arguments, **env)
    assert said.pop("generated") == wanted["generated"]
    return said, log


@pytest.mark.parametrize("way", WAYS)
def test_generation(musa: Interpreter, model: tuple[Path, Any], way: str) -> None:
    said, _ = _generate(musa, model, way, {})
    assert said.pop("platform").startswith("vllm_musa_platform.musa.")
    assert said.pop("name").startswith("MTT S5000")
    assert said == {"count": [2, 2], "untouched": True, "bfloat16": True}


def test_engine_in_the_process_of_the_program(musa: Interpreter, model: tuple[Path, Any]) -> None:
    _generate(musa, model, "native", {"enforce_eager": True}, VLLM_ENABLE_V1_MULTIPROCESSING="0")


def test_tensor_parallel(musa: Interpreter, model: tuple[Path, Any]) -> None:
    _generate(musa, model, "native", {"tensor_parallel_size": 2})


def test_tensor_parallel_by_mccl_in_c(musa: Interpreter, model: tuple[Path, Any]) -> None:
    """vLLM looks for NCCL's library itself on NVIDIA's and AMD's platforms alone, and otherwise by its own variable."""
    env = {"VLLM_NCCL_SO_PATH": "libmccl.so.2", "VLLM_LOGGING_LEVEL": "INFO"}
    _, log = _generate(musa, model, "native", {"tensor_parallel_size": 2}, **env)
    assert "vLLM is using nccl==2.28.9" in log


def test_server(musa: Interpreter, model: tuple[Path, Any]) -> None:
    folder, wanted = model
    prompt, generated = (
        " ".join(wanted["words"][token] for token in wanted[key][1]) for key in ("prompts", "generated")
    )
    answer, _ = _run(musa, "native", "vllm_server.py", str(folder), prompt)
    assert answer.split() == generated.split()
