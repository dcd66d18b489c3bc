"""LoRA and a few other adapters on a tiny Llama: training, merging, saving and loading them."""

import json
import sys
import tempfile

import torch
from peft import AdaLoraConfig, IA3Config, LoraConfig, PeftModel, PromptTuningConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
numbers, same, devices = {}, {}, set()


def base():
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            pad_token_id=0,
        )
    ).to(device)


tokens = torch.randint(3, 64, (4, 10), generator=torch.Generator().manual_seed(1)).to(device)
adapters = {
    "lora": LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    "dora": LoraConfig(r=4, target_modules=["q_proj"], use_dora=True, task_type="CAUSAL_LM"),
    "adalora": AdaLoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM", total_step=10),
    "ia3": IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM"),
    "prompt": PromptTuningConfig(num_virtual_tokens=4, task_type="CAUSAL_LM"),
}
for name, config in adapters.items():
    torch.manual_seed(2)
    model = get_peft_model(base(), config)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    for _ in range(3):
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        tuned = model(input_ids=tokens).logits
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            again = PeftModel.from_pretrained(base(), folder).eval()
            same[f"{name} loaded"] = bool(torch.allclose(again(input_ids=tokens).logits, tuned, atol=1e-5))
        if name in ("lora", "dora"):
            merged = model.merge_and_unload()
            same[f"{name} merged"] = bool(torch.allclose(merged(input_ids=tokens).logits, tuned, atol=1e-4))
    numbers[name] = [losses, tuned[0, -1, :6].tolist()]
    devices |= {str(p.device) for m in (model, again) for p in m.parameters()}

print(
    json.dumps(
        {
            "devices": sorted(devices),
            "numbers": numbers,
            "same": same,
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
