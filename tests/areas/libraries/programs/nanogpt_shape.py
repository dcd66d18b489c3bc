"""The shape of nanoGPT's train.py: `device_type` from the name, bfloat16 autocast, torch.compile, fused AdamW, pinned batches."""

import json
import sys
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn import functional as F

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
compiled = "compile" in sys.argv
torch.manual_seed(1337)
if torch.cuda.is_available():
    torch.backends.cuda.matmul.allow_tf32 = False
device_type = "cuda" if "cuda" in device else "cpu"
dtype = torch.bfloat16 if device_type == "cpu" or torch.cuda.is_bf16_supported() else torch.float16
ctx = nullcontext() if "float32" in sys.argv else torch.amp.autocast(device_type=device_type, dtype=dtype)
tokens = torch.randint(0, 64, (512,), generator=torch.Generator().manual_seed(0))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            each.view(b, t, self.heads, c // self.heads).transpose(1, 2) for each in self.qkv(self.ln1(x)).split(c, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(64, width), nn.Embedding(32, width)
        self.blocks, self.head = nn.Sequential(Block(width, 4), Block(width, 4)), nn.Linear(width, 64)

    def forward(self, index, targets):
        x = self.wte(index) + self.wpe(torch.arange(index.shape[1], device=index.device))
        logits = self.head(self.blocks(x))
        return F.cross_entropy(logits.view(-1, 64), targets.view(-1))


def get_batch(step):
    starts = [(step * 37 + 11 * index) % 470 for index in range(4)]
    x = torch.stack([tokens[i : i + 32] for i in starts])
    y = torch.stack([tokens[i + 1 : i + 33] for i in starts])
    if device_type == "cuda":
        pins.append(True)
        return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    return x.to(device), y.to(device)


pins: list[bool] = []
model = GPT().to(device)
scaler = torch.amp.GradScaler(device_type, enabled=dtype == torch.float16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=device_type == "cuda")
run = torch.compile(model) if compiled else model
losses = []
for step in range(4):
    x, y = get_batch(step)
    with ctx:
        loss = run(x, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.item())

print(
    json.dumps(
        {
            "devices": sorted({str(p.device) for p in model.parameters()}),
            "numbers": [],
            "rough": losses,
            "same": {},
            "took": {"pinned": bool(pins)},
            "allocated": torch.cuda.max_memory_allocated() if device_type == "cuda" else 0,
        }
    )
)
