"""timm: a network trained on batches of its prefetcher, which copies on a stream of its own where the type is "cuda"."""

import json
import sys

import numpy as np
import timm
import torch
from PIL import Image
from timm.data import create_loader

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")


class Pictures(torch.utils.data.Dataset):
    transform = None

    def __len__(self):
        return 8

    def __getitem__(self, index):
        picture = np.random.default_rng(index).integers(0, 255, (32, 32, 3), dtype=np.uint8)
        return self.transform(Image.fromarray(picture)), index % 2


torch.manual_seed(0)
loader = create_loader(
    Pictures(),
    input_size=(3, 32, 32),
    batch_size=4,
    use_prefetcher=True,
    num_workers=0,
    persistent_workers=False,
    pin_memory=True,
    device=device,
)
model = timm.create_model("resnet10t", pretrained=False, num_classes=2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses, devices = [], set()
for _ in range(2):
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        devices |= {str(images.device), str(labels.device)}
print(
    json.dumps(
        {
            "devices": sorted(devices),
            "numbers": losses,
            "same": {},
            "took": {"stream": type(loader.stream).__name__},
            "allocated": torch.cuda.max_memory_allocated() if device.type == "cuda" else 0,
        }
    )
)
