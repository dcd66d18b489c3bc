"""timm's models, its training helpers and torch.compile, on a vision transformer and a convolutional network."""

import json
import sys

import timm
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, NativeScaler, accuracy

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
compiler = sys.argv[2] if len(sys.argv) > 2 else "aot_eager"
numbers, devices = {}, set()

for name, options in {
    "vit_tiny_patch16_224": {"img_size": 32, "patch_size": 8, "depth": 2},
    "resnet10t": {},
}.items():
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=5, **options).to(device)
    average = ModelEmaV3(model, decay=0.9)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    scheduler = CosineLRScheduler(optimizer, t_initial=4)
    images = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(1)).to(device)
    labels = torch.tensor([0, 1, 2, 3], device=device)
    targets = torch.nn.functional.one_hot(labels, 5).float()
    losses = []
    for step in range(3):
        loss = SoftTargetCrossEntropy()(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(step + 1)
        average.update(model)
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(images)
        compiled = torch.compile(model, backend=compiler)(images)
        averaged = average.module.eval()(images)
    top1, top5 = accuracy(logits, labels, topk=(1, 5))
    numbers[name] = [losses, logits[0].tolist(), compiled[0].tolist(), averaged[0].tolist(), top1.item(), top5.item()]
    devices |= {str(p.device) for p in model.parameters()} | {str(p.device) for p in average.module.parameters()}

mixed, soft = Mixup(mixup_alpha=0.8, num_classes=5, prob=1.0)(images, labels)
devices |= {str(mixed.device), str(soft.device)}

scaler, half = NativeScaler(device=device), torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(half.parameters(), lr=0.1)
with torch.autocast(device, dtype=torch.bfloat16):
    loss = half(torch.ones(2, 4, device=device)).float().square().mean()
scaler(loss, optimizer, clip_grad=1.0, parameters=half.parameters())

print(
    json.dumps(
        {
            "devices": sorted(devices),
            "numbers": numbers,
            "same": {},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
