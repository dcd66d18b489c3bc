"""Digits with accelerate, to be started by its launcher: the loop names no device, and no way of sharing the work.

`accelerate_digits.py [FOLDER]`: saves accelerate's state there half-way, and begins the rest with it."""

import sys

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from sklearn.datasets import load_digits
from torch import nn

set_seed(0)
accelerator = Accelerator(dataloader_config=DataLoaderConfiguration(split_batches=True))
images, labels = load_digits(return_X_y=True)
data = torch.utils.data.TensorDataset(torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels))
loader = torch.utils.data.DataLoader(data, batch_size=64, drop_last=True)
model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
print(f"[rank {accelerator.process_index} of {accelerator.num_processes}] {accelerator.device}: {type(model).__name__}")

for epoch in (1, 2):
    losses = []
    for inputs, targets in loader:
        loss = nn.functional.cross_entropy(model(inputs).float(), targets)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()).mean().item())
    accelerator.print(f"epoch {epoch}: loss {sum(losses) / len(losses):.6f}", flush=True)
    if epoch == 1 and len(sys.argv) > 1:
        accelerator.save_state(sys.argv[1])
        accelerator.wait_for_everyone()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
        accelerator.load_state(sys.argv[1])
accelerator.end_training()
