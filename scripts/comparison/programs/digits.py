"""Trains a small net of convolutions on pictures of digits that it draws itself; as torch's example for MNIST, it asks for CUDA."""

import time

import torch
from torch import nn
from torch.nn import functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 16, 3),
    nn.ReLU(),
    nn.Conv2d(16, 32, 3),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(32 * 144, 10),
).to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
images = torch.randn(10, 1, 28, 28)
labels = torch.arange(64) % 10
for step in range(25):
    if step == 5:
        began = time.process_time()
    x, y = (images[labels] + 0.3 * torch.randn(64, 1, 28, 28)).to(device), labels.to(device)
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
print("took", time.process_time() - began)
print("loss", loss.item())
