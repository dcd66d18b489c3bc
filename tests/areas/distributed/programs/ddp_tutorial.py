"""What PyTorch's tutorial "Getting Started with Distributed Data Parallel" teaches: processes started by torch.multiprocessing, a
basic use, a checkpoint that all ranks load, and a model that lies on two GPUs of its process."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = sys.argv[1]
    accelerator = torch.accelerator.current_accelerator() if hasattr(torch, "accelerator") else torch.device("cuda")
    dist.init_process_group(
        dist.get_default_backend_for_device(accelerator) if len(sys.argv) > 2 else "nccl",
        rank=rank,
        world_size=world_size,
    )


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


class ToyMpModel(nn.Module):
    def __init__(self, dev0, dev1):
        super().__init__()
        self.dev0, self.dev1 = dev0, dev1
        self.net1 = nn.Linear(10, 10).to(dev0)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5).to(dev1)

    def forward(self, x):
        x = self.relu(self.net1(x.to(self.dev0)))
        return self.net2(x.to(self.dev1))


def train_step(model, inputs, labels):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    optimizer.zero_grad()
    nn.MSELoss()(model(inputs), labels).backward()
    optimizer.step()


def same_everywhere(model):
    """Whether all ranks have the same weights, though each has seen other data."""
    mine = torch.cat([parameter.detach().cpu().flatten() for parameter in model.parameters()]).cuda()
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    return all(torch.equal(mine, other) for other in everyone)


def demo(rank, world_size, checkpoint):
    setup(rank, world_size)
    torch.cuda.set_device(rank)
    torch.manual_seed(rank)

    model = ToyModel().to(rank)
    ddp_model = DDP(model, device_ids=[rank])
    train_step(ddp_model, torch.randn(20, 10), torch.randn(20, 5).to(rank))
    basic = same_everywhere(ddp_model)

    if rank == 0:
        torch.save(ddp_model.state_dict(), checkpoint)
    dist.barrier()
    map_location = {"cuda:0": f"cuda:{rank}"}
    restored = DDP(ToyModel().to(rank), device_ids=[rank])
    state = torch.load(checkpoint, map_location=map_location, weights_only=True)
    loaded = {str(tensor.device) for tensor in state.values()}
    restored.load_state_dict(state)
    train_step(restored, torch.randn(20, 10), torch.randn(20, 5).to(rank))
    checkpointed = same_everywhere(restored)

    spread = DDP(ToyMpModel(rank * 2, rank * 2 + 1))
    outputs = spread(torch.randn(20, 10))
    train_step(spread, torch.randn(20, 10), torch.randn(20, 5).to(rank * 2 + 1))
    parallel = same_everywhere(spread)
    print(
        f"[rank {rank} of {world_size}] {next(model.parameters()).device}: {dist.get_backend()} basic={basic} "
        f"checkpoint={checkpointed} from={sorted(loaded)} spread={parallel} on={outputs.device}",
        flush=True,
    )
    dist.destroy_process_group()


if __name__ == "__main__":
    n_gpus = torch.cuda.device_count()
    assert n_gpus >= 2, f"needs two GPUs, found {n_gpus}"
    with tempfile.TemporaryDirectory() as folder:
        world_size = n_gpus // 2
        mp.spawn(demo, args=(world_size, os.path.join(folder, "model.checkpoint")), nprocs=world_size, join=True)
