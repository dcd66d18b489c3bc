"""Classifies handwritten digits on several GPUs: DistributedDataParallel over NCCL, started by torchrun.

    torchrun --standalone --nproc-per-node 2 train_ddp.py      # on two GPUs
    python train_ddp.py                                        # on one

A run that is started again with the same --checkpoint goes on after the last epoch that was finished. The batch size is
that of all GPUs together, so the loss is the same on any number of them.

The data come with scikit-learn: 1,797 real scans of 8 x 8 pixels. A quarter of them is kept for the test.
"""

import argparse
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.AvgPool2d(2),
        )  # fmt: skip
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(32 * 4 * 4, 10))

    def forward(self, images):
        return self.classifier(self.features(images))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=64, help="of all GPUs together")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bf16", action="store_true", help="compute in bfloat16 where autocast does")
    parser.add_argument("--checkpoint", default="digits_ddp.pt")
    parser.add_argument("--timeout", type=float, default=600, help="seconds that a GPU waits for the others")
    return parser.parse_args()


def set_up(timeout):
    """Join the processes torchrun has started, or be the only one; each has a GPU of its own."""
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(local_rank)
    alone = {} if "RANK" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    device = torch.device("cuda", local_rank)
    dist.init_process_group("nccl", timeout=timedelta(seconds=timeout), device_id=device, **alone)
    return local_rank


def make_loaders(batch_size, seed):
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(labels)
    train, test = train_test_split(range(len(labels)), test_size=0.25, stratify=labels, random_state=seed)
    train, test = TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])
    rank, size = dist.get_rank(), dist.get_world_size()
    sampler = DistributedSampler(train, seed=seed)
    mine = Subset(test, range(rank, len(test), size))  # a DistributedSampler would show some images twice
    return (
        DataLoader(train, batch_size // size, sampler=sampler, drop_last=True, pin_memory=True),
        DataLoader(mine, 4 * batch_size // size, pin_memory=True),
    )


def train_epoch(model, loader, optimizer, scheduler, device, bf16):
    model.train()
    total = torch.zeros((), device=device)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=bf16):
            loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
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


def save(path, epoch, model, optimizer, scheduler):
    if dist.get_rank() == 0:
        state = {
            "epoch": epoch,
            "model": model.module.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        }
        torch.save(state, f"{path}.new")
        os.replace(f"{path}.new", path)  # all of it or nothing, whenever the process may die
    dist.barrier()


def resume(path, model, optimizer, scheduler, device):
    """How many epochs have been finished; model, optimizer and scheduler are then as they were at the end of the last."""
    if not os.path.exists(path):
        return 0
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    return state["epoch"]


def main():
    args = parse_args()
    local_rank = set_up(args.timeout)
    device = torch.device("cuda", local_rank)
    rank = dist.get_rank()
    torch.manual_seed(args.seed)

    train_loader, test_loader = make_loaders(args.batch_size, args.seed)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(DigitNet()).to(device)
    model = DistributedDataParallel(model, device_ids=[local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    steps = args.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5 * args.lr, total_steps=steps)
    weights = next(model.parameters())
    print(
        f"[rank {rank} of {dist.get_world_size()}] {weights.device}: {torch.cuda.get_device_name(device)}", flush=True
    )

    finished = resume(args.checkpoint, model, optimizer, scheduler, device)
    if finished and rank == 0:
        print(f"{args.checkpoint}: {finished} epochs are finished", flush=True)
    for epoch in range(finished + 1, args.epochs + 1):
        train_loader.sampler.set_epoch(epoch)
        loss = train_epoch(model, train_loader, optimizer, scheduler, device, args.bf16)
        right = accuracy(model.module, test_loader, device)
        if rank == 0:
            print(f"epoch {epoch:2}: loss {loss:.6f}, test accuracy {right:.2%}", flush=True)
        save(args.checkpoint, epoch, model, optimizer, scheduler)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
