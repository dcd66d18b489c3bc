"""Digits by Ray Train's TorchTrainer on two workers with a GPU each, a checkpoint after each epoch."""

import os
import sys
import tempfile

import ray
import ray.train
import torch
import torch.distributed as dist
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, get_device, prepare_data_loader, prepare_model
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_loop(config):
    rank, size = ray.train.get_context().get_world_rank(), ray.train.get_context().get_world_size()
    images, labels = load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels))
    loader = prepare_data_loader(DataLoader(data, batch_size=64 // size, shuffle=True, drop_last=True))
    torch.manual_seed(0)
    model = prepare_model(nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    weights = next(model.parameters())
    print(
        f"[rank {rank} of {size}] {weights.device}: {dist.get_backend()} {type(model).__name__} {get_device()}",
        flush=True,
    )
    for epoch in range(1, config["epochs"] + 1):
        if size > 1:
            loader.sampler.set_epoch(epoch)
        total = torch.zeros((), device=get_device())
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        with tempfile.TemporaryDirectory() as folder:
            torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
            saved = Checkpoint.from_directory(folder) if rank == 0 else None
            ray.train.report({"epoch": epoch, "loss": total.item() / len(loader)}, checkpoint=saved)


if __name__ == "__main__":
    ray.init(num_gpus=2, num_cpus=2, include_dashboard=False)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"epochs": 2},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=True, resources_per_worker={"CPU": 1, "GPU": 1}),
        run_config=RunConfig(name="digits", storage_path=os.path.abspath(sys.argv[1])),
    )
    result = trainer.fit()
    print(f"epoch {result.metrics['epoch']}: loss {result.metrics['loss']:.6f}")
    with result.checkpoint.as_directory() as folder:
        print(sorted(str(tensor.device) for tensor in torch.load(os.path.join(folder, "model.pt")).values()))
