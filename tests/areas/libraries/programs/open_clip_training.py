"""open_clip: `open_clip_train.main` on synthetic data, in mixed precision on the device."""

import json
import sys
import tempfile
from pathlib import Path

import open_clip
import torch
from open_clip_train.main import main

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
folder = Path(tempfile.mkdtemp())
config = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
(folder / "small.json").write_text(json.dumps(config))
open_clip.add_model_config(folder / "small.json")
options = {
    "--dataset-type": "synthetic",
    "--train-num-samples": "8",
    "--batch-size": "4",
    "--workers": "0",
    "--epochs": "1",
    "--warmup": "1",
    "--lr": "1e-3",
    "--precision": "amp" if device == "cuda" else "fp32",
    "--device": device,
    "--model": "small",
    "--logs": str(folder),
    "--name": "run",
    "--seed": "0",
}
main([word for pair in options.items() for word in pair])
saved = torch.load(folder / "run" / "checkpoints" / "epoch_1.pt", weights_only=False)
weights = {name: value for name, value in saved["state_dict"].items() if name in ("text_projection", "visual.proj")}
print(
    json.dumps(
        {
            "devices": sorted({str(value.device) for value in weights.values()}),
            "numbers": [],
            "rough": [value.flatten()[:64].tolist() for value in weights.values()],
            "same": {"steps": saved["optimizer"]["state"][0]["step"].item()},
            "took": {"scaler": "scaler" in saved},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
