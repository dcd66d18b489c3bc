"""Packages whose view is decided by hand, each with the reason. Everything here gets the backend's view."""

from __future__ import annotations

_NVIDIA = 'its "cuda" means NVIDIA\'s own binaries'
_PLUGIN = "its support of MUSA is in a plug-in"

KNOWN: dict[str, str] = {
    "bitsandbytes": f"{_NVIDIA}; without them it uses plain PyTorch",
    "xformers": _NVIDIA,
    "flash_attn": _NVIDIA,
    "triton": "it chooses its driver by torch.cuda.is_available(), and that driver is NVIDIA's",
    "cupy": _NVIDIA,
    "cupy_backends": _NVIDIA,
    "cupyx": _NVIDIA,
    "rwkv": _NVIDIA,
    "auto_gptq": _NVIDIA,
    "awq": _NVIDIA,
    "onnxruntime": _NVIDIA,
    "vllm": _PLUGIN,
    "megatron": _PLUGIN,
}
