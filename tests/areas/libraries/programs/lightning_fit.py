"""Lightning's Trainer on one GPU: fit with validation, callbacks and a checkpoint, resume, test and predict; then Fabric."""

import json
import logging
import sys
import tempfile
import warnings

import lightning
import torch
from lightning.fabric import Fabric
from lightning.pytorch.callbacks import DeviceStatsMonitor, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
accelerator = "gpu" if device == "cuda" else "cpu"
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.simplefilter("ignore")


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
        self.losses, self.seen = [], set()

    def training_step(self, batch, index):
        inputs, labels = batch
        self.seen.add(str(inputs.device))
        loss = nn.functional.cross_entropy(self.net(inputs), labels)
        self.log("loss", loss)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        inputs, labels = batch
        self.log("val_loss", nn.functional.cross_entropy(self.net(inputs), labels))

    test_step = validation_step

    def predict_step(self, batch, index):
        return self.net(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


def loader():
    inputs = torch.randn(48, 8, generator=torch.Generator().manual_seed(1))
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(inputs, inputs[:, :3].argmax(1)), batch_size=8, num_workers=0
    )


def trainer(folder, precision="32-true", epochs=2):
    return lightning.Trainer(
        accelerator=accelerator,
        devices=1,
        max_epochs=epochs,
        precision=precision,
        default_root_dir=folder,
        gradient_clip_val=1.0,
        accumulate_grad_batches=2,
        logger=CSVLogger(folder),
        callbacks=[ModelCheckpoint(folder, save_last=True), LearningRateMonitor(), DeviceStatsMonitor()],
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
    )


with tempfile.TemporaryDirectory() as folder:
    lightning.seed_everything(0)
    model, first = Classifier(), trainer(folder)
    first.fit(model, loader(), loader())
    where = str(first.strategy.root_device)
    tested = first.test(model, loader(), verbose=False)[0]["val_loss"]
    predicted = torch.cat(first.predict(model, loader()))
    resumed = Classifier()
    trainer(folder, epochs=3).fit(resumed, loader(), loader(), ckpt_path=f"{folder}/last.ckpt")
    lightning.seed_everything(0)
    lower = Classifier()
    trainer(folder, "bf16-mixed").fit(lower, loader(), loader())

fabric = Fabric(accelerator="cuda" if device == "cuda" else "cpu", devices=1, precision="32-true")
fabric.launch()
fabric.seed_everything(0)
net = nn.Linear(8, 3)
net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
data = fabric.setup_dataloaders(loader())
fabric_losses = []
for inputs, labels in data:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(inputs), labels)
    fabric.backward(loss)
    optimizer.step()
    fabric_losses.append(loss.item())

print(
    json.dumps(
        {
            "devices": sorted(model.seen | resumed.seen | lower.seen | {where, str(fabric.device), str(loss.device)}),
            "numbers": {
                "losses": model.losses,
                "tested": tested,
                "predicted": predicted[:3].tolist(),
                "resumed": resumed.losses,
                "fabric": fabric_losses,
            },
            "rough": {"bfloat16": lower.losses},
            "same": {},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
