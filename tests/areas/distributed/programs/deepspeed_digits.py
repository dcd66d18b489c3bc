"""Digits by DeepSpeed: an engine around a model, in the way that the arguments name. Its losses must be those of plain PyTorch.

`deepspeed_digits.py plain` trains the same model on the same batches on the CPU, in one process and without DeepSpeed.
`deepspeed_digits.py STAGE OPTIMIZER [WORD...]` takes a stage of ZeRO (0 to 3) and an optimizer: `torch` for one of PyTorch's,
made by the program, or `config` for the one that DeepSpeed makes, which it compiles. Words: `optimizer` and `parameters` for what
is kept in the memory of the CPU, `accumulate` for two halves of each batch one after the other, `bf16`, and `save=FOLDER` for a
checkpoint, which is loaded into a new engine.
"""

import os
import sys

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH, RATE = 64, 3e-3
EPOCHS = (1, 2)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 10))


def digits(rank, size, batch):
    images, labels = load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels))
    return DataLoader(data, batch, sampler=DistributedSampler(data, size, rank), drop_last=True)


def plain():
    model, loader = network(), digits(0, 1, BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for epoch in EPOCHS:
        loader.sampler.set_epoch(epoch)
        losses = []
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.6f}", flush=True)


def configuration(stage, optimizer, words, size):
    zero = {"stage": stage, "overlap_comm": False}
    if "optimizer" in words:
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if "parameters" in words:
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    if stage == 3:
        zero["stage3_param_persistence_threshold"] = 0  # these parameters are so few that they would not be shared out
    accumulate = 2 if "accumulate" in words else 1
    config = {
        "train_batch_size": BATCH,
        "train_micro_batch_size_per_gpu": BATCH // size // accumulate,
        "gradient_accumulation_steps": accumulate,
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
    }
    if "bf16" in words:
        config["bf16"] = {"enabled": True}
    if optimizer == "config":
        config["optimizer"] = {"type": "AdamW", "params": {"lr": RATE, "weight_decay": 0.01}}
    else:
        config |= {"zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False}
    return config


def engine_of(config, stage):
    import deepspeed

    model = network()
    if stage == 3:
        with deepspeed.zero.Init(config_dict_or_path=config):
            shared_out = network()  # its numbers are drawn on the device
        with deepspeed.zero.GatheredParameters(list(shared_out.parameters()), modifier_rank=0):
            shared_out.load_state_dict(model.state_dict())
        model = shared_out
    optimizer = None if "optimizer" in config else torch.optim.AdamW(model.parameters(), lr=RATE)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    return engine


def train(engine, loader):
    rank, dtype = dist.get_rank(), next(engine.module.parameters()).dtype
    for epoch in EPOCHS:
        loader.sampler.set_epoch(epoch)
        total = torch.zeros((), device=engine.device)
        for inputs, targets in loader:
            output = engine(inputs.to(engine.device, dtype)).float()
            loss = nn.functional.cross_entropy(output, targets.to(engine.device))
            engine.backward(loss)
            engine.step()
            total += loss.detach()
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        if rank == 0:
            print(f"epoch {epoch}: loss {total.item() / len(loader):.6f}", flush=True)


def loss_of(engine):
    dtype = next(engine.module.parameters()).dtype
    inputs, targets = next(iter(DataLoader(digits(0, 1, BATCH).dataset, BATCH)))
    with torch.no_grad():
        output = engine(inputs.to(engine.device, dtype)).float()
    return nn.functional.cross_entropy(output, targets.to(engine.device)).item()


def with_deepspeed(stage, optimizer, words):
    import deepspeed

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    deepspeed.init_distributed("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    config = configuration(stage, optimizer, words, size)
    engine = engine_of(config, stage)
    name = type(getattr(engine.optimizer, "optimizer", engine.optimizer)).__name__
    told = f"stage {engine.zero_optimization_stage()} {dist.get_backend()} {name}"
    print(f"[rank {rank} of {size}] {engine.device}: {told}", flush=True)
    train(engine, digits(rank, size, config["train_micro_batch_size_per_gpu"]))
    folders = [word.removeprefix("save=") for word in words if word.startswith("save=")]
    if folders:
        engine.save_checkpoint(folders[0], tag="last")
        other = engine_of(config, stage)
        before = loss_of(other)
        other.load_checkpoint(folders[0], tag="last")
        print(f"[rank {rank}] loaded {before:.6f} -> {loss_of(other):.6f} of {loss_of(engine):.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if not word.startswith("--local_rank")]  # DeepSpeed's launcher adds it
    if arguments == ["plain"]:
        plain()
    else:
        with_deepspeed(int(arguments[0]), arguments[1], arguments[2:])
