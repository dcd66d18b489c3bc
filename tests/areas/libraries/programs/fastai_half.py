"""fastai: a Learner on its default device, in half precision by `to_non_native_fp16`, which asserts that the type is "cuda"."""

import json
import sys

import torch
from fastai.callback.fp16 import NonNativeMixedPrecision  # noqa: F401  (it gives Learner its method)
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner
from fastai.optimizer import SGD
from fastai.torch_core import default_device
from torch import nn

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
torch.manual_seed(0)
x = torch.rand(32, 16)
pairs = list(zip(x, x.sum(1, keepdim=True)))
loaders = DataLoaders(DataLoader(pairs, bs=8), DataLoader(pairs, bs=8), device=default_device())
model = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 1))
learner = Learner(loaders, model, loss_func=nn.functional.mse_loss, opt_func=SGD, lr=0.01)
if device == "cuda":
    learner.to_non_native_fp16(dynamic=False, loss_scale=16)
dtypes = set()
model.register_forward_hook(lambda module, inputs, output: dtypes.add(str(output.dtype)))
with learner.no_bar(), learner.no_logging():
    learner.fit(2)
print(
    json.dumps(
        {
            "devices": sorted({str(parameter.device) for parameter in learner.model.parameters()}),
            "numbers": [],
            "rough": [float(loss) for loss in learner.recorder.losses],
            "same": {},
            "took": {"device": loaders.device.type, "dtypes": sorted(dtypes)},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
