"""Digits by DeepSpeed's ZeRO-1 under torchrun: an engine around a model, an optimizer of torch whose state is shared out."""

import os
import sys

import deepspeed
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 64

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
deepspeed.init_distributed("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
images, labels = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels))
loader = DataLoader(data, BATCH // size, sampler=DistributedSampler(data), drop_last=True)
model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10))
engine, optimizer, _, _ = deepspeed.initialize(
    model=model,
    optimizer=torch.optim.AdamW(model.parameters(), lr=3e-3),
    config={
        "train_batch_size": BATCH,
        "train_micro_batch_size_per_gpu": BATCH // size,
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
    },
)
print(
    f"[rank {rank} of {size}] {engine.device}: stage {engine.zero_optimization_stage()} {dist.get_backend()}",
    flush=True,
)
for epoch in (1, 2):
    loader.sampler.set_epoch(epoch)
    total = torch.zeros((), device=engine.device)
    for inputs, targets in loader:
        loss = nn.functional.cross_entropy(engine(inputs.to(engine.device)), targets.to(engine.device))
        engine.backward(loss)
        engine.step()
        total += loss.detach()
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    if rank == 0:
        print(f"epoch {epoch}: loss {total.item() / len(loader):.6f}", flush=True)
    engine.save_checkpoint(sys.argv[1], tag=f"epoch-{epoch}")
engine.load_checkpoint(sys.argv[1], tag="epoch-2")
dist.destroy_process_group()
