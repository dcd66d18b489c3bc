"""A tiny Llama and a tiny BERT, compiled by torch.compile's default backend: training and evaluation."""

import json
import sys

import torch
from torch._dynamo.utils import counters
from torch._inductor import metrics
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM

device = sys.argv[1]
SIZES = {"vocab_size": 50, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}


def llama():
    return LlamaForCausalLM(LlamaConfig(**SIZES, num_key_value_heads=2, max_position_embeddings=32))


def bert():
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertForSequenceClassification(BertConfig(**SIZES, **dropout, max_position_embeddings=32))


def compiled(model):
    """On the CPU in the same graphs, run by eager code: that is what the device's answers are held to."""
    return torch.compile(model, backend="inductor" if device == "cuda" else "eager")


def trained(make, labels):
    torch.manual_seed(0)
    model = make().to(device)
    fast = compiled(model)
    tokens = torch.randint(3, 50, (4, 12), generator=torch.Generator().manual_seed(1)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        result = fast(input_ids=tokens, labels=labels(tokens))
        result.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(result.loss.item())
    model.eval()
    with torch.no_grad():
        logits = fast(input_ids=tokens).logits
    devices.update({str(logits.device)} | {str(parameter.device) for parameter in model.parameters()})
    return {"losses": losses, "logits": logits.flatten()[:8].tolist()}


devices = set()
numbers = {"llama": trained(llama, lambda tokens: tokens), "bert": trained(bert, lambda tokens: tokens[:, 0] % 2)}
print(
    json.dumps(
        {
            "devices": sorted(devices),
            "numbers": numbers,
            "same": {"graphs": counters["stats"]["unique_graphs"], "breaks": dict(counters["graph_break"])},
            "kernels": metrics.generated_kernel_count,
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
