"""SGLang from PyPI, no file of it changed, generates the very tokens that transformers gives on the CPU.

Moore Threads' own packages are stood in for by tests/support/stand_ins/sglang; docs/how-to/sglang.md names the versions that
were tried.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import ROOT, Interpreter, clean_environment

NEEDS = ("sglang", "transformers", "torchvision")
PROGRAMS = Path(__file__).parent / "programs"
STAND_INS = str(ROOT / "tests" / "support" / "stand_ins" / "sglang")
EAGER = {"attention_backend": "torch_native"}
GRAPHS = {"attention_backend": "fa3", "page_size": 1}
OF_PREFILLS = {"cuda_graph_backend_prefill": "full", "cuda_graph_bs_prefill": [8, 64]}
TRITON = {"attention_backend": "triton", "page_size": 1, "cuda_graph_bs_decode": [2, 4]}
WAYS = {
    "native": ([], {"TORCHADA_NATIVE": "1"}),
    "portable": ([], {"TORCHADA_NATIVE": "0"}),
    "torchada run": (["-m", "torchada", "run"], {}),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder of a model, and what transformers generates with it."""
    folder = tmp_path_factory.mktemp("llama")
    plain = Interpreter(env={"TORCHADA_DISABLE": "1", "HF_HUB_OFFLINE": "1"})
    return folder, plain.json([str(PROGRAMS / "sglang_model.py"), str(folder)], timeout=900)


def _run(musa: Interpreter, way: str, program: str, *arguments: str, **env: str) -> tuple[Any, str]:
    prefix, switches = WAYS[way]
    path = os.pathsep.join(filter(None, [STAND_INS, clean_environment().get("PYTHONPATH")]))
    environment = {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1", **switches, **env}
    done = musa.run([*prefix, str(PROGRAMS / program), *arguments], env=environment, timeout=2400)
    return json.loads(done.stdout.strip().splitlines()[-1]), done.stdout + done.stderr


def _engine(musa: Interpreter, model: tuple[Path, Any], way: str, options: dict[str, Any], **env: str) -> str:
    folder, wanted = model
    arguments = (str(folder), json.dumps(wanted["prompts"]), json.dumps(options))
    generated, log = _run(musa, way, "sglang_engine.py", *arguments, **env)
    assert generated == wanted["generated"]
    return log


def _replayed(log: str, **graphs: str) -> None:
    """The engine says of each batch whether it was a replay of a graph."""
    for phase, answer in graphs.items():
        assert set(re.findall(rf"{phase.capitalize()} batch, .*musa graph: (\w+)", log)) == {answer}, phase


@pytest.mark.parametrize("way", WAYS)
def test_engine(musa: Interpreter, model: tuple[Path, Any], way: str) -> None:
    _engine(musa, model, way, EAGER)


@pytest.mark.parametrize("way", WAYS)
def test_engine_with_graphs(musa: Interpreter, model: tuple[Path, Any], way: str) -> None:
    _replayed(_engine(musa, model, way, GRAPHS), prefill="False", decode="True")


@pytest.mark.parametrize("way", WAYS)
def test_engine_with_graphs_of_prefills(musa: Interpreter, model: tuple[Path, Any], way: str) -> None:
    """Prompts of 52 tokens together are filled up to the 64 of a graph."""
    _replayed(_engine(musa, model, way, {**GRAPHS, **OF_PREFILLS}), prefill="True", decode="True")


@pytest.mark.parametrize("way", WAYS)
def test_attention_in_triton_with_graphs(musa: Interpreter, model: tuple[Path, Any], way: str) -> None:
    _replayed(_engine(musa, model, way, TRITON), prefill="False", decode="True")


def test_tensor_parallel(musa: Interpreter, model: tuple[Path, Any]) -> None:
    _engine(musa, model, "native", {**EAGER, "tp_size": 2}, MUSASIM_DEVICE_COUNT="2")


def test_tensor_parallel_with_graphs(musa: Interpreter, model: tuple[Path, Any]) -> None:
    """SGLang opens libmccl.so.2 itself, and its all-reduces are in the graphs."""
    log = _engine(musa, model, "native", {**GRAPHS, "tp_size": 2}, MUSASIM_DEVICE_COUNT="2")
    _replayed(log, prefill="False", decode="True")
    assert "sglang is using nccl==2.28.9" in log


def test_server(musa: Interpreter, model: tuple[Path, Any]) -> None:
    folder, wanted = model
    prompt, generated = (
        " ".join(wanted["words"][token] for token in wanted[key][1]) for key in ("prompts", "generated")
    )
    answer, _ = _run(musa, "native", "sglang_server.py", str(folder), prompt)
    assert answer.split() == generated.split()


# One bit of a bfloat16 of this size, or the rounding of a sum.
ALLOWED = {
    **dict.fromkeys(("rmsnorm", "fused_add_rmsnorm", "qknorm", "silu_and_mul", "gelu_tanh_and_mul"), 0.0625),
    **dict.fromkeys(("row_sum", "topk_softmax", "hadamard_transform"), 1e-4),
    **dict.fromkeys(("add_constant", "store_cache", "awq_dequantize", "adler32", "moe_align"), 0.0),
}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where SGLang keeps the kernels that it compiles, so that the first of the ways compiles for all."""
    return tmp_path_factory.mktemp("kernels")


@pytest.mark.parametrize("way", WAYS)
def test_kernels_that_are_compiled_while_it_runs(musa: Interpreter, way: str, kernels: Path) -> None:
    """By torchada's nvcc. SGLang keeps a kernel only where its rule for make names the file that it was made of."""
    differences, log = _run(musa, way, "sglang_kernels.py", SGLANG_JIT_CACHE_DIR=str(kernels))
    assert differences.keys() == ALLOWED.keys()
    assert {name: size for name, size in differences.items() if size > ALLOWED[name]} == {}
    assert "no usable dependency information" not in log
