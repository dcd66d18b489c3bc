"""ultralytics: a detector trained with device=torch.device("cuda:0"), which turns mixed precision on where the type is "cuda"."""

import json
import os
import sys
import tempfile
from pathlib import Path

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
folder = Path(tempfile.mkdtemp())
os.chdir(folder)
os.environ["YOLO_CONFIG_DIR"] = str(folder)
os.environ["YOLO_VERBOSE"] = "false"

import cv2  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from ultralytics import YOLO  # noqa: E402
from ultralytics.utils import ROOT, USER_CONFIG_DIR, WEIGHTS_DIR  # noqa: E402

random = np.random.default_rng(0)
for name in ("images", "labels"):
    (folder / "data" / name).mkdir(parents=True)
for number in range(4):
    picture = random.integers(0, 255, (64, 64, 3), dtype=np.uint8)
    cv2.imwrite(str(folder / f"data/images/{number}.png"), picture)
    (folder / f"data/labels/{number}.txt").write_text("0 0.5 0.5 0.4 0.4\n")
(folder / "data.yaml").write_text(f"path: {folder}/data\ntrain: images\nval: images\nnames: [thing]\n")
# What it would fetch otherwise: a font for its plots, and a model for its check of mixed precision.
(USER_CONFIG_DIR / "Arial.ttf").touch()
WEIGHTS_DIR.mkdir(parents=True, exist_ok=True)
network = (ROOT / "cfg" / "models" / "v8" / "yolov8.yaml").read_text()
(folder / "yolov8n.yaml").write_text(network.replace("n: [0.33, 0.25, 1024]", "n: [0.33, 0.0625, 1024]"))
YOLO("yolov8n.yaml").save(WEIGHTS_DIR / "yolo26n.pt")

losses, found = [], {}


def after_a_batch(trainer):
    losses.append(float(trainer.loss))
    found.update(
        amp=trainer.amp, scaler=trainer.scaler.is_enabled(), device=str(next(trainer.model.parameters()).device)
    )
    found["allocated"] = torch.cuda.max_memory_allocated() if device == "cuda" else 0


torch.manual_seed(0)
model = YOLO("yolov8n.yaml")
model.add_callback("on_train_batch_end", after_a_batch)
model.train(
    data=str(folder / "data.yaml"),
    device=torch.device("cuda:0") if device == "cuda" else "cpu",
    epochs=1,
    imgsz=64,
    batch=2,
    workers=0,
    optimizer="SGD",
    lr0=1e-4,
    warmup_epochs=0,
    plots=False,
    val=False,
    save=False,
    augment=False,
    mosaic=0,
    hsv_h=0,
    hsv_s=0,
    hsv_v=0,
    translate=0,
    scale=0,
    fliplr=0,
    erasing=0,
    verbose=False,
)
print(
    json.dumps(
        {
            "devices": [found["device"]],
            "numbers": [],
            "rough": losses,
            "same": {},
            "took": {"amp": found["amp"], "scaler": found["scaler"]},
            "allocated": found["allocated"],
        }
    )
)
