"""A tiny Llama: trained by hand, compiled, generating, saved and loaded again where `device_map` says."""

import json
import sys
import tempfile

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
compiler = sys.argv[2] if len(sys.argv) > 2 else "aot_eager"

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=97,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
)
model = LlamaForCausalLM(config).to(device)
tokens = torch.randint(3, 97, (4, 16)).to(device)

optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
losses = []
for _ in range(5):
    loss = model(input_ids=tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

model.eval()
with torch.no_grad():
    eager = model(tokens).logits
    compiled = torch.compile(model, backend=compiler)(tokens).logits
prompt = tokens[:2, :4]
greedy = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, do_sample=False)
beams = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=6, num_beams=3, do_sample=False)
static = model.generate(
    prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, do_sample=False, cache_implementation="static",
    disable_compile=True,
)  # fmt: skip
sampled = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, do_sample=True, top_k=5)

with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    maps = ["auto", device, {"": device}] if device == "cuda" else [device]
    loaded = [AutoModelForCausalLM.from_pretrained(folder, device_map=device_map) for device_map in maps]
    half = AutoModelForCausalLM.from_pretrained(folder, device_map=device, dtype=torch.bfloat16)
again = [bool(torch.equal(other(tokens.to(other.device)).logits, eager)) for other in loaded]

print(
    json.dumps(
        {
            "devices": sorted(
                {str(p.device) for m in (model, *loaded, half) for p in m.parameters()} | {str(greedy.device)}
            ),
            "numbers": {
                "losses": losses,
                "logits": eager[0, 0, :8].tolist(),
                "compiled": compiled[0, 0, :8].tolist(),
                "bfloat16": half(tokens).logits[0, 0, :4].tolist(),
            },
            "same": {
                "greedy": greedy.tolist(),
                "beams": beams.tolist(),
                "static": static.tolist(),
                "loaded": all(again),
            },
            "sampled": list(sampled.shape),
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
