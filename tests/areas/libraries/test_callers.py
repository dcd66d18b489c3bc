"""Libraries that ask for CUDA before they use the device: each takes the way that it takes on CUDA."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from support.library_ways import HOST, on_the_host_too

CALLERS: dict[str, tuple[str, dict[str, object]]] = {
    "ignite_auto.py": ("ignite", {"pinned": True, "device": "cuda", "model": "DataParallel"}),
    "tensordict_graphs.py": ("tensordict", {"replayed": True, "is_cuda": True}),
    "geometric_prefetch.py": ("torch_geometric", {"stream": True}),
    "gpytorch_neighbors.py": ("gpytorch", {}),
    "fairscale_pipe.py": ("fairscale", {"stream": True, "default": True}),
    "bitsandbytes_linear.py": ("bitsandbytes", {}),
    "timm_prefetch.py": ("timm", {"stream": "Stream"}),
    "fastai_half.py": ("fastai", {"device": "cuda", "dtypes": ["torch.float16"]}),
    "nnunet_trainer.py": ("nnunetv2", {"pinned": True, "autocast": True, "scaler": True}),
    "open_clip_training.py": ("open_clip_train", {"scaler": True}),
    "ultralytics_train.py": ("ultralytics", {"amp": True, "scaler": True}),
}

# The batches themselves say whether they are pinned, and on the host no memory is.
OTHERWISE_ON_THE_HOST: dict[str, dict[str, object]] = {"nnunet_trainer.py": {"pinned": False}}


@on_the_host_too
@pytest.mark.parametrize("program", list(CALLERS))
def test_a_library_goes_the_way_of_cuda(agrees: Any, program: str, request: pytest.FixtureRequest) -> None:
    library, took = CALLERS[program]
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    on_the_host = request.node.callspec.params["begin"] == HOST  # type: ignore[attr-defined]
    if on_the_host and library == "ultralytics":
        pytest.skip("it trains under autocast, on the host in bfloat16, where its losses are 8 % off those in float32")
    otherwise = OTHERWISE_ON_THE_HOST if on_the_host else {}
    agrees(program, **{**took, **otherwise.get(program, {})})


@on_the_host_too
def test_the_shape_of_nanogpt_trains(agrees: Any) -> None:
    agrees("nanogpt_shape.py", pinned=True)


def test_the_shape_of_nanogpt_trains_compiled(agrees: Any) -> None:
    agrees("nanogpt_shape.py", "compile", pinned=True)


def test_the_shape_of_nanogpt_trains_on_two_gpus(agrees: Any) -> None:
    found = agrees("nanogpt_ddp.py", ranks=2, backend="nccl")
    assert found["devices"] == ["cuda:0", "cuda:1"]


@pytest.mark.skipif(find_spec("sglang") is None, reason="sglang is not installed")
def test_sglang_selects_its_platform_for_musa(begin: Any) -> None:
    """SGLang knows MUSA: it asks for torch.version.musa and for torchada, before it asks for CUDA."""
    assert begin("sglang_platform.py").stdout.strip().splitlines()[-1] == "MusaSRTPlatform musa"
