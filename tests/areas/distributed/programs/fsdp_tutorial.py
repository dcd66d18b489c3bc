"""What PyTorch's tutorials on FSDP teach: FullyShardedDataParallel around a network for images with a wrap policy, timed by events,
its state gathered on rank 0, and the same by `fully_shard` with its prefetching and the options of get_model_state_dict."""

import functools
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.fsdp import FullStateDictConfig, MixedPrecision, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import enable_wrap, size_based_auto_wrap_policy, wrap
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

try:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
except ImportError:
    fully_shard = None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1)
        self.conv2 = nn.Conv2d(16, 32, 3, 1)
        self.fc1 = nn.Linear(32 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = nn.functional.relu(self.conv2(nn.functional.relu(self.conv1(x))))
        return nn.functional.log_softmax(self.fc2(nn.functional.relu(self.fc1(torch.flatten(x, 1)))), dim=1)


def train(model, rank, world_size, loader, optimizer, epoch, sampler):
    model.train()
    ddp_loss = torch.zeros(2).to(rank)
    sampler.set_epoch(epoch)
    for data, target in loader:
        data, target = data.to(rank), target.to(rank)
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(data).float(), target, reduction="sum")
        (loss / len(data)).backward()
        optimizer.step()
        ddp_loss[0] += loss.item()
        ddp_loss[1] += len(data)
    dist.all_reduce(ddp_loss, op=dist.ReduceOp.SUM)
    return (ddp_loss[0] / ddp_loss[1]).item()


def loaders(rank, world_size):
    images, labels = load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16, torch.tensor(labels))
    sampler = DistributedSampler(data, rank=rank, num_replicas=world_size, shuffle=True)
    options = {"num_workers": 1, "persistent_workers": True, "pin_memory": True, "shuffle": False}
    return DataLoader(data, batch_size=32, sampler=sampler, **options), sampler


def first_generation(rank, world_size, loader, sampler):
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=1000)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.manual_seed(0)
    model = FSDP(Net().to(rank), auto_wrap_policy=policy, device_id=torch.cuda.current_device())
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    begin.record()
    losses = []
    for epoch in (1, 2):
        losses.append(train(model, rank, world_size, loader, optimizer, epoch, sampler))
        scheduler.step()
    end.record()
    torch.cuda.synchronize()
    assert begin.elapsed_time(end) > 0
    whole = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, whole):
        state = model.state_dict()
    assert (len(state) == 8) == (rank == 0)
    assert all(tensor.device.type == "cpu" for tensor in state.values())

    half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16, buffer_dtype=torch.bfloat16)
    with enable_wrap(wrapper_cls=FSDP, mixed_precision=half, device_id=rank):
        lower = wrap(Net().to(rank))
    train(lower, rank, world_size, loader, torch.optim.SGD(lower.parameters(), lr=0.05), 1, sampler)
    return losses


def second_generation(rank, world_size, loader, sampler):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    torch.manual_seed(0)
    losses = []
    for options in ({}, {"mp_policy": policy}):
        model = Net().to(rank)
        for layer in (model.conv2, model.fc1):
            fully_shard(layer, **options)
        fully_shard(model, **options)
        model.conv2.set_modules_to_forward_prefetch([model.fc1])
        model.fc1.set_modules_to_backward_prefetch([model.conv2])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        losses.append([train(model, rank, world_size, loader, optimizer, epoch, sampler) for epoch in (1, 2)])
    full = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = get_model_state_dict(model, options=full)
    whole = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(model, state if rank == 0 else {}, options=whole)
    return losses


def main(rank, world_size):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=sys.argv[1])
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(rank)
    loader, sampler = loaders(rank, world_size)
    curves = [first_generation(rank, world_size, loader, sampler)]
    if fully_shard is not None:
        curves += second_generation(rank, world_size, loader, sampler)
    print(f"[rank {rank} of {world_size}] cuda:{torch.cuda.current_device()}: curves {curves}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, args=(2,), nprocs=2, join=True)
