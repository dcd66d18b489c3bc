"""bitsandbytes: 8 and 4 bit layers, 4 bit quantization and 8 bit AdamW, all by its backend in plain PyTorch."""

import json
import sys

import bitsandbytes as bnb
import torch
from torch import nn

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
torch.manual_seed(0)
x = torch.randn(4, 64)
eight = bnb.nn.Linear8bitLt(64, 64, has_fp16_weights=False)
four = bnb.nn.Linear4bit(64, 64, compute_dtype=torch.float32, quant_type="nf4")
for layer in (eight, four):
    layer.load_state_dict(nn.Linear(64, 64).state_dict())
eight, four = eight.to(device), four.to(device)
weights = torch.randn(64, 64).to(device)
packed, state = bnb.functional.quantize_4bit(weights, quant_type="nf4")
restored = bnb.functional.dequantize_4bit(packed, state)
model = nn.Linear(64, 64).to(device)
optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=0.01, min_8bit_size=16)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(x.to(device)).square().mean()
    loss.backward()
    optimizer.step()
outputs = [eight(x.to(device)).float(), four(x.to(device)), restored]
print(
    json.dumps(
        {
            "devices": sorted({str(each.device) for each in outputs}),
            "numbers": [loss.item()],
            "rough": [each.flatten()[:16].tolist() for each in outputs],
            "same": {},
            "took": {},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
