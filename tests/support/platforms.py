"""The platforms that the core suites run on: what the environment says for each, and its names for what is called musa."""

from __future__ import annotations

# Chooses the platform of the tests' own process and of the interpreters they start.
VARIABLE = "PLATFORM_OF_TESTS"

ENVIRONMENT = {
    "musa": {"TORCHADA_SIMULATE": "1"},
    "npu": {"TORCHADA_SIMULATE": "1", "MUSASIM_FACE": "npu"},
    "mlu": {"TORCHADA_SIMULATE": "1", "MUSASIM_FACE": "mlu"},
    "host": {"TORCHADA_PLATFORM": "host"},
    # Two NVIDIA GPUs, on which torchada does nothing: CUDA itself says whether the tests expect the right thing.
    "cuda": {},
}

# What is called so on every platform.
_KEPT = {name: name for name in ("TORCHADA_MUSA_VIEW", "mark.musa")}

WORDS: dict[str, dict[str, str]] = {
    "musa": {},
    "npu": {
        "MUSA_VISIBLE_DEVICES": "ASCEND_RT_VISIBLE_DEVICES",
        **_KEPT,
        "musa": "npu",
        "Musa": "Npu",
        "MUSA": "NPU",
        "mccl": "hccl",
        "MCCL": "HCCL",
    },
    "mlu": {
        **_KEPT,
        "musa": "mlu",
        "Musa": "Mlu",
        "MUSA": "MLU",
        "mccl": "cncl",
        "MCCL": "CNCL",
    },
    "host": {
        "MUSA_VISIBLE_DEVICES": "HOST_VISIBLE_DEVICES",
        **_KEPT,
        "torch_musa": "torch_host",
        "torch.musa": "torch.host",
        "musa": "cuda",
        "Musa": "Cuda",
        "MUSA": "CUDA",
        "mccl": "nccl",
        "MCCL": "HOST",
    },
    "cuda": {
        **_KEPT,
        "import torch_musa": "import torch",
        "torch_musa": "torch",
        "musa": "cuda",
        "Musa": "Cuda",
        "MUSA": "CUDA",
        "mccl": "nccl",
        "MCCL": "NCCL",
    },
}
