"""The shape of pytorch/examples' mnist, on images that are made here: `use_cuda`, pinned memory, workers, StepLR, saving."""

import argparse
import json
import tempfile

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.optim.lr_scheduler import StepLR


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, 1), nn.Conv2d(8, 16, 3, 1)
        self.fc1, self.fc2 = nn.Linear(16 * 36, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        x = self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))
        return F.log_softmax(x, dim=1)


parser = argparse.ArgumentParser()
parser.add_argument("device", nargs="?", default="cuda", help="cpu is the example's --no-cuda")
arguments = parser.parse_args()

use_cuda = arguments.device != "cpu" and torch.cuda.is_available()
torch.manual_seed(1)
device = torch.device("cuda" if use_cuda else "cpu")
loader_options = {"batch_size": 16}
if use_cuda:
    loader_options.update({"num_workers": 1, "pin_memory": True})
images = torch.rand(64, 1, 16, 16, generator=torch.Generator().manual_seed(2))
labels = images.flatten(1)[:, :10].argmax(1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), **loader_options)

model = Net().to(device)
optimizer = optim.Adadelta(model.parameters(), lr=1.0)
scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
losses = []
for _ in range(2):
    model.train()
    for data, target in loader:
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
model.eval()
with torch.no_grad():
    output = model(images.to(device))
    correct = output.argmax(dim=1, keepdim=True).eq(labels.to(device).view(-1, 1)).sum().item()
with tempfile.NamedTemporaryFile() as file:
    torch.save(model.state_dict(), file.name)
    saved = torch.load(file.name, map_location="cpu")

print(
    json.dumps(
        {
            "devices": sorted({str(p.device) for p in model.parameters()} | {str(output.device)}),
            "numbers": {"losses": losses, "output": output[0].tolist(), "bias": saved["fc2.bias"].tolist()},
            "same": {"correct": correct},
            "allocated": torch.cuda.max_memory_allocated() if use_cuda else 0,
        }
    )
)
