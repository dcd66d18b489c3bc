"""How much memory a model needs that a program states by its name or its numbers."""

from __future__ import annotations

import json

import pytest

from tools.check.conftest import Project
from torchada.tools.check import Finding, models

pytestmark = pytest.mark.once

GPT2 = """
from dataclasses import dataclass
@dataclass
class GPTConfig:
    block_size: int = 1024
    vocab_size: int = 50257
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.0
"""
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "vocab_size": 128256,
}


def stated(project: Project, files: dict[str, str | bytes]) -> list[Finding]:
    return [finding for finding in project(files).findings if finding.rule == "model-memory"]


def test_a_class_of_numbers_is_a_model(project: Project) -> None:
    (finding,) = stated(project, {"model.py": GPT2})
    assert (finding.name, finding.line, finding.severity) == ("GPTConfig", 4, "note")
    assert (
        "about 124 million parameters: 494 MB of weights, and 2.0 GB with gradients and Adam's state" in finding.message
    )


@pytest.mark.parametrize(
    "code",
    [
        "f(n_layer=12, n_head=12, n_embd=768)",
        "x = {'n_layer': 12, 'n_head': 12, 'n_embd': 768}",
        "n_layer = n_head = 12; n_embd = 768",
    ],
)
def test_numbers_without_a_vocabulary_are_a_model_without_embeddings(project: Project, code: str) -> None:
    (finding,) = stated(project, {"train.py": code})
    assert finding.message.startswith("about 85 million parameters without embeddings: 340 MB of weights")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("M.from_pretrained('facebook/opt-125m')", "about 125 million parameters: 500 MB of weights, and 2.0 GB with"),
        (
            "M.from_pretrained('org/Llama-2-7b-hf', torch_dtype=torch.float16)",
            "about 7.0 billion parameters: 14 GB of weights, and 56 GB",
        ),
        (
            "M.from_pretrained('org/Qwen2.5-0.5B-Instruct', dtype='auto')",
            "about 500 million parameters: 1.0 GB of weights",
        ),
        (
            "M.from_pretrained('org/Mixtral-8x7B', torch_dtype=torch.bfloat16)",
            "about 56.0 billion parameters: 112 GB of weights",
        ),
        (
            "M.from_pretrained('org/a-7b', load_in_4bit=True)",
            "about 7.0 billion parameters: 3.5 GB of weights; activations",
        ),
    ],
)
def test_the_name_of_a_model_says_its_size(project: Project, code: str, said: str) -> None:
    (finding,) = stated(project, {"a.py": f"import torch\nfrom transformers import AutoModel as M\n{code}\n"})
    assert finding.message.startswith(said)
    assert (finding.severity == "warning") == ("112 GB" in said), "no chip has the memory for the weights alone"


@pytest.mark.parametrize(
    "code",
    [
        "AutoTokenizer.from_pretrained('org/Llama-2-7b-hf')",
        "M.from_pretrained('bert-base-uncased')",
        "M.from_pretrained(name)",
        "M.from_pretrained('/data/models/2b3c')",
        "nn.LSTM(hidden_size=128, num_layers=2)",
        "f(n_layer=layers, n_head=12, n_embd=768)",
        "nn.MultiheadAttention(embed_dim=768, num_heads=12)",
    ],
)
def test_what_states_no_size_is_no_model(project: Project, code: str) -> None:
    assert stated(project, {"a.py": code}) == []


def test_a_configuration_of_transformers_is_read(project: Project) -> None:
    (finding,) = stated(project, {"weights/config.json": json.dumps(LLAMA, indent=1)})
    assert (finding.name, finding.file, finding.line) == ("LlamaForCausalLM", "weights/config.json", 9)
    assert finding.message.startswith("about 8.0 billion parameters: 32 GB of weights, and 128 GB with gradients")


def test_the_text_model_of_several_counts(project: Project) -> None:
    (finding,) = stated(project, {"config.json": json.dumps({"model_type": "llava", "text_config": LLAMA})})
    assert finding.name == "llava" and "about 8.0 billion parameters" in finding.message


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 1}', '{"num_hidden_layers": "12"}', "[" * 100_000])
def test_any_other_configuration_is_none_of_our_business(project: Project, text: str) -> None:
    assert project({"config.json": text}).findings == []


def test_grouped_heads_and_gates_count() -> None:
    model = models.of_numbers("x", LLAMA)
    assert model is not None and abs(model.parameters - 8.03e9) < 5e6, "Llama 3 of 8 billion has 8.03"
