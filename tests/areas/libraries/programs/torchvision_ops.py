"""torchvision: a classifier trained, a detector's forward pass, its operators and its transforms, on the device."""

import json
import sys

import torch
import torchvision
from torchvision.transforms import v2

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
torch.manual_seed(0)

model = torchvision.models.resnet18(weights=None, num_classes=4).to(device)
images = torch.rand(4, 3, 32, 32).to(device)
labels = torch.tensor([0, 1, 2, 3], device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
losses = []
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

corners = torch.rand(20, 2) * 20
boxes = torch.cat([corners, corners + 2 + torch.rand(20, 2) * 8], 1).to(device)
scores = torch.rand(20).to(device)
features = torch.rand(1, 4, 16, 16).to(device).requires_grad_()
aligned = torchvision.ops.roi_align(features, [boxes], output_size=3, spatial_scale=0.5)
aligned.sum().backward()
deformed = torchvision.ops.deform_conv2d(
    features, torch.rand(1, 18, 14, 14).to(device), torch.rand(2, 4, 3, 3).to(device)
)
transforms = v2.Compose(
    [
        v2.Resize(24, antialias=True),
        v2.CenterCrop(16),
        v2.RandomHorizontalFlip(1.0),
        v2.GaussianBlur(3, 0.5),
        v2.Normalize([0.5] * 3, [0.2] * 3),
    ]
)
transformed = transforms(images)
detector = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
    weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=64
)
detector = detector.to(device).eval()
with torch.no_grad():
    found = detector([images[0]])[0]

print(
    json.dumps(
        {
            "devices": sorted({str(t.device) for t in (aligned, deformed, transformed, found["boxes"])}),
            "numbers": {
                "losses": losses,
                "aligned": aligned.flatten()[::50].tolist(),
                "gradient": features.grad.flatten()[::50].tolist(),
                "deformed": deformed.flatten()[::50].tolist(),
                "transformed": transformed.flatten()[::100].tolist(),
                "iou": torchvision.ops.box_iou(boxes[:3], boxes[3:6]).tolist(),
            },
            "same": {
                "kept": torchvision.ops.nms(boxes, scores, 0.3).tolist(),
                "batched": torchvision.ops.batched_nms(boxes, scores, labels.repeat(5), 0.3).tolist(),
                "detected": len(found["boxes"]),
            },
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
