"""ms-swift from PyPI, no file of it changed: its command line trains a random Llama with LoRA as on the CPU, and generates."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter
from support.launch import PLAIN, WAYS

NEEDS = ("swift", "transformers", "peft")
PROGRAMS = Path(__file__).parent / "programs"
OFFLINE = {"HF_HUB_OFFLINE": "1", "USE_HF": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
CPU = Interpreter(env={**PLAIN, **OFFLINE, "CUDA_VISIBLE_DEVICES": ""})
TWO_RANKS = {"NPROC_PER_NODE": "2"}
MODEL = "--model_type llama --template chatml --torch_dtype float32 --attn_impl sdpa"
# ms-swift would take float16 on the device, and float32 on the CPU.
TRAINING = (
    "--tuner_type lora --lora_rank 4 --lora_dropout 0 --fp16 false --bf16 false --learning_rate 1e-3 --num_train_epochs 2 "
    "--per_device_train_batch_size 4 --gradient_accumulation_steps 1 --logging_steps 1 --save_strategy epoch --eval_strategy no "
    "--split_dataset_ratio 0 --dataset_num_proc 1 --dataloader_num_workers 0 --max_length 64 --add_version false "
    "--report_to none --seed 1 --data_seed 1"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama, and 32 exercises in turning words round."""
    made = tmp_path_factory.mktemp("swift")
    CPU.run([str(PROGRAMS / "sglang_model.py"), str(made / "llama")], timeout=900)
    words = [[f"w{(7 * i + j) % 250}" for j in range(6)] for i in range(32)]
    lines = [json.dumps({"messages": _exercise(each)}) for each in words]
    (made / "exercises.jsonl").write_text("\n".join(lines))
    return made


def _exercise(words: list[str]) -> list[dict[str, str]]:
    answer = {"role": "assistant", "content": " ".join(reversed(words))}
    return [{"role": "user", "content": " ".join(words)}, answer]


def _swift(
    on: Interpreter, command: str, folder: Path, words: str, env: dict[str, str], prefix: tuple[str, ...]
) -> str:
    line = [*prefix, "-m", "swift.cli.main", command, "--model", str(folder / "llama"), *f"{MODEL} {words}".split()]
    done = on.run(line, env={**OFFLINE, **env}, timeout=900)
    return done.stdout + done.stderr


def _train(
    on: Interpreter,
    folder: Path,
    name: str,
    words: str = "",
    env: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """The losses and norms of gradients that are logged, step by step."""
    out = folder / name
    words = f"{TRAINING} --dataset {folder / 'exercises.jsonl'} --output_dir {out} {words}"
    _swift(on, "sft", folder, words, env or {}, prefix)
    return [entry for entry in map(json.loads, (out / "logging.jsonl").read_text().splitlines()) if "loss" in entry]


@cache
def _on_the_cpu(folder: Path, ranks: int) -> list[dict[str, Any]]:
    if ranks == 1:
        return _train(CPU, folder, "cpu")
    return _train(CPU, folder, "cpu-of-two-ranks", "--ddp_backend gloo --use_cpu true", TWO_RANKS)


def _agrees(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    losses = [entry["loss"] for entry in wanted]
    half = len(losses) // 2
    assert len(found) == len(wanted) > 4 and sum(losses[half:]) < sum(losses[:half])
    for name in ("loss", "grad_norm"):
        assert [entry[name] for entry in found] == pytest.approx([entry[name] for entry in wanted], rel=1e-3)
    assert all("memory(GiB)" in entry for entry in found)  # what ms-swift logs of a GPU, and not of the CPU


@pytest.fixture
def two_devices(musa: Interpreter) -> Interpreter:
    """Two devices, the second first, by CUDA's variable."""
    return Interpreter(env={**musa.env, **TWO_RANKS, "CUDA_VISIBLE_DEVICES": "1,0"}, cwd=musa.cwd)


@pytest.mark.parametrize("way", WAYS)
def test_training(musa: Interpreter, folder: Path, way: str) -> None:
    prefix, env = WAYS[way]
    _agrees(_train(musa, folder, f"one-device-{way}".replace(" ", "-"), "", env, prefix), _on_the_cpu(folder, 1))


@pytest.mark.parametrize("way", ["native", "portable"])
@pytest.mark.parametrize("stage", ["", "zero2", "zero3", "zero3_offload"])
def test_training_on_two_devices(two_devices: Interpreter, folder: Path, stage: str, way: str) -> None:
    """By DistributedDataParallel, and by stages of DeepSpeed's ZeRO."""
    if stage and find_spec("deepspeed") is None:
        pytest.skip("deepspeed is not installed")
    words = f"--deepspeed {stage}" if stage else ""
    found = _train(two_devices, folder, f"two-devices-{stage}-{way}", words, WAYS[way][1])
    _agrees(found, _on_the_cpu(folder, 2))


def test_generating(musa: Interpreter, folder: Path) -> None:
    """With an adapter that was trained on the device."""
    if not (folder / "adapter").exists():
        _train(musa, folder, "adapter")
    (checkpoint,) = (path for path in (folder / "adapter").glob("checkpoint-*") if path.name == "checkpoint-16")
    answers = []
    for on in (musa, CPU):
        result = folder / f"answers-{len(answers)}.jsonl"
        words = (
            f"--adapters {checkpoint} --val_dataset {folder / 'exercises.jsonl'}#4 --max_new_tokens 8 --temperature 0"
        )
        _swift(on, "infer", folder, f"{words} --stream false --result_path {result}", {}, ())
        answers.append([json.loads(line)["response"] for line in result.read_text().splitlines()])
    assert answers[0] == answers[1] and len(set(answers[0])) > 1
