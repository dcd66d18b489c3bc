"""`sharded.py SAVE|LOAD STEPS FOLDER`: a transformer under FSDP2 whose state torch.distributed.checkpoint keeps in FOLDER.

Without torchrun it is loaded into one process, with CUDA or without. The batches are those of all ranks together, so that the
losses do not depend on their number.
"""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

BATCH, LENGTH, WORDS = 8, 16, 64


def network():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
    return nn.Sequential(
        nn.Embedding(WORDS, 32), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, WORDS)
    )


def batch(step, rank, size, device):
    numbers = torch.Generator().manual_seed(step)
    words = torch.randint(WORDS, (BATCH, LENGTH + 1), generator=numbers)[rank::size].to(device)
    return words[:, :-1], words[:, 1:]


def main(mode, steps, folder):
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")
    if "RANK" in os.environ:
        if device.type == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    model = network().to(device)
    if size > 1:
        for layer in model[1].layers:
            fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    first = 1
    if mode == "LOAD":
        state, optimizer_state = get_state_dict(model, optimizer)
        kept = {"model": state, "optimizer": optimizer_state, "step": 0}
        dcp.load(kept, checkpoint_id=folder)
        set_state_dict(model, optimizer, model_state_dict=kept["model"], optim_state_dict=kept["optimizer"])
        first = kept["step"] + 1
    for step in range(first, first + steps):
        words, following = batch(step, rank, size, device)
        loss = nn.functional.cross_entropy(model(words).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total = loss.detach().clone()
        if size > 1:
            dist.all_reduce(total)
        if rank == 0:
            print(f"step {step}: loss {total.item() / size:.9f} on {size} ranks of {device.type}", flush=True)
    if mode == "SAVE":
        state, optimizer_state = get_state_dict(model, optimizer)
        dcp.save({"model": state, "optimizer": optimizer_state, "step": step}, checkpoint_id=folder)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
