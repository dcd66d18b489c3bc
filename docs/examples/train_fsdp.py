"""Classifies handwritten digits with a small transformer that is sharded over the GPUs: FSDP2 over NCCL, started by torchrun.

    torchrun --standalone --nproc-per-node 2 train_fsdp.py      # on two GPUs
    python train_fsdp.py                                        # on one

A run that is started again with the same --checkpoint goes on after the last epoch that was finished, on any number of GPUs.
The batch size is that of all GPUs together, so the loss is the same on any number of them.

The data come with scikit-learn: 1,797 real scans of 8 x 8 pixels. A quarter of them is kept for the test.
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.qkv(self.before_attention(x)).chunk(3, dim=-1)
        )
        attention = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attention.transpose(1, 2).flatten(2))
        return x + self.mlp(self.before_mlp(x))


class DigitTransformer(nn.Module):
    """Reads an image as a sentence of eight rows."""

    def __init__(self, width=64, heads=4, depth=3):
        super().__init__()
        self.rows = nn.Linear(8, width)
        self.places = nn.Parameter(torch.randn(8, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.classifier = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 10))

    def forward(self, images):
        x = self.rows(images) + self.places
        for block in self.blocks:
            x = block(x)
        return self.classifier(x.mean(dim=1))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64, help="of all GPUs together")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bf16", action="store_true", help="compute in bfloat16; weights and gradients stay float32")
    parser.add_argument("--checkpoint", default="digits_fsdp", help="folder of the sharded checkpoints")
    parser.add_argument("--save", default="digits_fsdp.pt", help="file of the whole model, when it is trained")
    return parser.parse_args()


def set_up():
    """Join the processes torchrun has started, or be the only one; each has a GPU of its own."""
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(local_rank)
    alone = {} if "RANK" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    device = torch.device("cuda", local_rank)
    dist.init_process_group("nccl", device_id=device, **alone)
    return device


def make_loaders(batch_size, seed):
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 8, 8) / 16
    labels = torch.tensor(labels)
    train, test = train_test_split(range(len(labels)), test_size=0.25, stratify=labels, random_state=seed)
    train, test = TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])
    rank, size = dist.get_rank(), dist.get_world_size()
    sampler = DistributedSampler(train, seed=seed)
    # Every GPU has to take part in every batch, also where its part of the last one is smaller.
    mine = Subset(test, range(rank, len(test), size))
    return (
        DataLoader(train, batch_size // size, sampler=sampler, drop_last=True, pin_memory=True),
        DataLoader(mine, -(-len(test) // size), pin_memory=True),
    )


def shard(model, bf16):
    """Each block gathers its weights when it is needed, and gives them up again."""
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if bf16 else None
    options = {"mesh": mesh, "mp_policy": policy} if policy else {"mesh": mesh}
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def train_epoch(model, loader, optimizer, device):
    model.train()
    total = torch.zeros((), device=device)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(images).float(), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    return total.item() / len(loader)


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    counts = torch.zeros(2, dtype=torch.int64, device=device)  # right ones, and all
    for images, labels in loader:
        predicted = model(images.to(device, non_blocking=True)).argmax(dim=1)
        counts[0] += (predicted == labels.to(device, non_blocking=True)).sum()
        counts[1] += len(labels)
    dist.all_reduce(counts)
    right, seen = counts.tolist()
    return right / seen


def save(folder, epoch, model, optimizer):
    """Every GPU writes its own part."""
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=os.path.join(folder, f"epoch-{epoch}"))


def resume(folder, model, optimizer):
    """How many epochs have been finished; model and optimizer are then as they were at the end of the last."""
    written = os.listdir(folder) if os.path.isdir(folder) else []
    # The file .metadata is written last, when all parts are there.
    whole = [name for name in written if os.path.exists(os.path.join(folder, name, ".metadata"))]
    finished = max((int(name.removeprefix("epoch-")) for name in whole), default=0)
    if finished:
        weights, moments = get_state_dict(model, optimizer)
        state = {"model": weights, "optimizer": moments}
        dcp.load(state, checkpoint_id=os.path.join(folder, f"epoch-{finished}"))
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    return finished


def main():
    args = parse_args()
    device = set_up()
    rank = dist.get_rank()
    torch.manual_seed(args.seed)  # the same weights everywhere, of which each keeps its part

    train_loader, test_loader = make_loaders(args.batch_size, args.seed)
    model = shard(DigitTransformer().to(device), args.bf16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    mine = [parameter.to_local() for parameter in model.parameters()]
    whole = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"[rank {rank} of {dist.get_world_size()}] {mine[0].device}: {sum(part.numel() for part in mine)} of {whole} weights",
        flush=True,
    )

    finished = resume(args.checkpoint, model, optimizer)
    if finished and rank == 0:
        print(f"{args.checkpoint}: {finished} epochs are finished", flush=True)
    for epoch in range(finished + 1, args.epochs + 1):
        train_loader.sampler.set_epoch(epoch)
        loss = train_epoch(model, train_loader, optimizer, device)
        right = accuracy(model, test_loader, device)
        if rank == 0:
            print(f"epoch {epoch:2}: loss {loss:.6f}, test accuracy {right:.2%}", flush=True)
        save(args.checkpoint, epoch, model, optimizer)

    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        torch.save(state, args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
