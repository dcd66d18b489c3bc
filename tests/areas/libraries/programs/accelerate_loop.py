"""A training loop of accelerate's: `prepare`, two precisions, clipping, accumulation, saving and loading the state, dispatch."""

import json
import sys
import tempfile

import torch
from accelerate import Accelerator, cpu_offload, dispatch_model, init_empty_weights
from accelerate.utils import set_seed
from torch import nn

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
set_seed(0)


def network():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))


def train(precision):
    set_seed(0)
    accelerator = Accelerator(
        mixed_precision=precision,
        gradient_accumulation_steps=2,
        cpu=device == "cpu",
        step_scheduler_with_optimizer=False,
    )
    inputs = torch.randn(64, 8)
    data = torch.utils.data.TensorDataset(inputs, inputs[:, :3].argmax(1))
    model, loader = network(), torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    losses, norms = [], []
    for _ in range(3):
        for batch, labels in loader:
            assert batch.device.type == accelerator.device.type
            with accelerator.accumulate(model):
                with accelerator.autocast():
                    loss = nn.functional.cross_entropy(model(batch), labels)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    norms.append(float(accelerator.clip_grad_norm_(model.parameters(), 1.0)))
                optimizer.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()).mean().item())
        scheduler.step()
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        before = [p.detach().clone() for p in model.parameters()]
        draw = torch.rand(2, device=accelerator.device)
        with torch.no_grad():
            for p in model.parameters():
                p.zero_()
        accelerator.load_state(folder)
        same = all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
        drawn_again = torch.equal(draw, torch.rand(2, device=accelerator.device))
    plain = accelerator.unwrap_model(model, keep_fp32_wrapper=False)
    return accelerator, plain, losses, norms, same and drawn_again


accelerator, model, losses, norms, same = train("no")
accelerator.free_memory()
accelerator.state._reset_state(True)
lower, _, lower_losses, _, lower_same = train("bf16")

devices = {str(accelerator.device), str(lower.device), *(str(p.device) for p in model.parameters())}
inputs = torch.ones(2, 8, device=device)
with torch.no_grad():
    expected = model.to(device)(inputs)
    with init_empty_weights():
        empty = network()
    layout = {"0": 0, "1": 0, "2": 1, "3": 1, "4": 1}
    split = dispatch_model(model, layout) if device == "cuda" else model
    dispatched = split(inputs)
    offloaded = cpu_offload(network(), execution_device=torch.device(device))(inputs)

print(
    json.dumps(
        {
            "devices": sorted(devices | {str(offloaded.device)}),
            "numbers": {
                "losses": losses,
                "norms": norms,
                "logits": expected.tolist(),
                "dispatched": dispatched.tolist(),
            },
            "rough": {"bfloat16": lower_losses},
            "same": {
                "state": same,
                "state in bfloat16": lower_same,
                "meta": all(p.is_meta for p in empty.parameters()),
            },
            "split": sorted({str(p.device) for p in split.parameters()}),
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
