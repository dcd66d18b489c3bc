"""nnU-Net: its trainer class with its own data loaders. GradScaler, autocast and pinning depend on the type of the device."""

import json
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
folder = Path(tempfile.mkdtemp())
os.environ.update(nnUNet_raw=str(folder), nnUNet_preprocessed=str(folder), nnUNet_results=str(folder / "results"))
os.environ.update(nnUNet_compile="false", nnUNet_n_proc_DA="1")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from nnunetv2.training.dataloading.nnunet_dataset import nnUNetDatasetNumpy  # noqa: E402
from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer  # noqa: E402

SIZE = 32
configuration = {
    "data_identifier": "plain",
    "preprocessor_name": "DefaultPreprocessor",
    "batch_size": 2,
    "patch_size": [SIZE, SIZE],
    "median_image_size_in_voxels": [SIZE, SIZE],
    "spacing": [1.0, 1.0],
    "normalization_schemes": ["ZScoreNormalization"],
    "use_mask_for_norm": [False],
    "batch_dice": True,
    "architecture": {
        "network_class_name": "dynamic_network_architectures.architectures.unet.PlainConvUNet",
        "arch_kwargs": {
            "n_stages": 3,
            "features_per_stage": [4, 8, 16],
            "conv_op": "torch.nn.modules.conv.Conv2d",
            "kernel_sizes": [[3, 3]] * 3,
            "strides": [[1, 1], [2, 2], [2, 2]],
            "n_conv_per_stage": [1, 1, 1],
            "n_conv_per_stage_decoder": [1, 1],
            "conv_bias": True,
            "norm_op": "torch.nn.modules.instancenorm.InstanceNorm2d",
            "norm_op_kwargs": {"eps": 1e-5, "affine": True},
            "dropout_op": None,
            "nonlin": "torch.nn.LeakyReLU",
            "nonlin_kwargs": {"inplace": True},
        },
        "_kw_requires_import": ["conv_op", "norm_op", "dropout_op", "nonlin"],
    },
}
plans = {
    "dataset_name": "Dataset001_Made",
    "plans_name": "plans",
    "configurations": {"2d": configuration},
    "transpose_forward": [0, 1, 2],
    "transpose_backward": [0, 1, 2],
    "label_manager": "LabelManager",
    "continue_training": False,
}
dataset = {"labels": {"background": 0, "thing": 1}, "channel_names": {"0": "CT"}, "file_ending": ".nii.gz"}
cases = folder / "Dataset001_Made" / "plain"
cases.mkdir(parents=True)
random = np.random.default_rng(0)
for number in range(2):
    image = random.normal(size=(1, 2, SIZE, SIZE)).astype(np.float32)
    labels = (image > 0.5).astype(np.int8)
    properties = {"class_locations": {1: np.argwhere(labels == 1)}}
    nnUNetDatasetNumpy.save_case(image, labels, properties, str(cases / f"case{number}"))


def main():
    torch.manual_seed(0)
    trainer = nnUNetTrainer(plans, "2d", "all", dataset, device=torch.device(device))
    trainer.initialize()
    autocasts = []
    trainer.network.register_forward_hook(lambda *_: autocasts.append(torch.is_autocast_enabled("cuda")))
    pinned = device == "cuda" and next(trainer.get_dataloaders()[0])["data"].is_pinned()
    data = torch.rand(2, 1, SIZE, SIZE, generator=torch.Generator().manual_seed(1))
    target = (data > 0.5).float()
    batch = {"data": data, "target": [target, target[..., ::2, ::2]]}
    before = trainer.validation_step(dict(batch))["loss"]
    trained = [float(trainer.train_step(dict(batch))["loss"]) for _ in range(3)]
    return trainer, pinned, autocasts, [float(before), *trained]


if __name__ == "__main__":
    trainer, pinned, autocasts, losses = main()
    print(
        json.dumps(
            {
                "devices": sorted({str(parameter.device) for parameter in trainer.network.parameters()}),
                "numbers": [],
                "rough": losses,
                "same": {},
                "took": {
                    "pinned": pinned,
                    "autocast": all(autocasts),
                    "scaler": trainer.grad_scaler is not None and trainer.grad_scaler.is_enabled(),
                },
                "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
            }
        ),
        flush=True,
    )
    for (
        worker
    ) in multiprocessing.active_children():  # the loaders' own way of ending waits for a batch that nobody takes
        worker.kill()
    os._exit(0)
