"""Train a small convolutional network on handwritten digits with mixed precision, on the GPU where there is one.

The data come with scikit-learn: 1,797 real scans of 8 x 8 pixels. A quarter of them is kept for the test.
"""

import argparse

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )  # fmt: skip
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 4 * 4, 10))

    def forward(self, images):
        return self.classifier(self.features(images))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", default="digits.pt")
    return parser.parse_args()


def make_loaders(batch_size, seed, pin_memory):
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(labels)
    train, test = train_test_split(range(len(labels)), test_size=0.25, stratify=labels, random_state=seed)
    return (
        DataLoader(TensorDataset(images[train], labels[train]), batch_size, shuffle=True, pin_memory=pin_memory),
        DataLoader(TensorDataset(images[test], labels[test]), 4 * batch_size, pin_memory=pin_memory),
    )


def train_epoch(model, loader, optimizer, scheduler, scaler, device):
    model.train()
    total = torch.zeros((), device=device)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16, enabled=scaler.is_enabled()):
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        total += loss.detach() * len(labels)
    return total.item() / len(loader.dataset)


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    correct = 0
    for images, labels in loader:
        predicted = model(images.to(device, non_blocking=True)).argmax(dim=1)
        correct += (predicted == labels.to(device, non_blocking=True)).sum().item()
    return correct / len(loader.dataset)


def main():
    args = parse_args()
    use_cuda = torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    torch.manual_seed(args.seed)
    if use_cuda:
        torch.cuda.manual_seed_all(args.seed)
        print(f"Training on {torch.cuda.get_device_name()}, one of {torch.cuda.device_count()} GPUs")

    train_loader, test_loader = make_loaders(args.batch_size, args.seed, pin_memory=use_cuda)
    model = DigitNet()
    if use_cuda:
        model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    steps = args.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5 * args.lr, total_steps=steps)
    scaler = torch.amp.GradScaler("cuda", enabled=use_cuda)

    if use_cuda:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
    for epoch in range(1, args.epochs + 1):
        loss = train_epoch(model, train_loader, optimizer, scheduler, scaler, device)
        print(f"epoch {epoch:2}: loss {loss:.4f}, test accuracy {accuracy(model, test_loader, device):.2%}")
    if use_cuda:
        end.record()
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated() / 2**20
        print(f"Trained in {start.elapsed_time(end) / 1000:.1f} s, at most {peak:.1f} MiB of GPU memory in use")

    torch.save({"model": model.state_dict(), "args": vars(args)}, args.checkpoint)
    checkpoint = torch.load(args.checkpoint, map_location=device)
    model = DigitNet().to(device)
    model.load_state_dict(checkpoint["model"])
    print(f"Test accuracy: {accuracy(model, test_loader, device):.2%}")
    name = f" ({torch.cuda.get_device_name()})" if use_cuda else ""
    print(f"Device: {next(model.parameters()).device}{name}")


if __name__ == "__main__":
    main()
