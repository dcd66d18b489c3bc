"""Which configuration a fused mixture-of-experts kernel runs with, and what SGLang and vLLM call the file that has it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_override: ContextVar[Mapping[str, Any] | None] = ContextVar("fused_moe_config", default=None)


@contextmanager
def override_config(config: Mapping[str, Any]) -> Iterator[None]:
    """Let `get_config` answer `config` within a `with` block, for this thread or task."""
    token = _override.set(config)
    try:
        yield
    finally:
        _override.reset(token)


def get_config() -> Mapping[str, Any] | None:
    """The configuration that `override_config` has set, if any."""
    return _override.get()


def get_device_name(device_id: int = 0) -> str:
    """The name of the device as it stands in a file's name, such as "MTT S5000"; "Unknown" where there is none. Imports torch."""
    import torch

    from torchada.control.platforms import get_backend, is_cpu_platform

    if is_cpu_platform() or not torch.cuda.device_count():
        return "Unknown"
    return str(get_backend().get_device_name(device_id))


def get_config_dtype_str(
    dtype: torch.dtype,
    use_int8_w8a16: bool | None = False,
    use_int4_w4a16: bool | None = False,
    use_fp8_w8a8: bool | None = False,
    use_int8_w8a8: bool | None = False,
) -> str | None:
    """What a file's name says of the types: of the quantization if there is one, of float32, and otherwise nothing (None)."""
    asked = {
        "fp8_w8a8": use_fp8_w8a8,
        "int8_w8a8": use_int8_w8a8,
        "int4_w4a16": use_int4_w4a16,
        "int8_w8a16": use_int8_w8a16,
    }
    quantized = next((name for name, is_asked in asked.items() if is_asked), None)
    return quantized or ("float32" if str(dtype) == "torch.float32" else None)


def get_config_file_name(
    E: int,
    N: int,
    dtype: str | None,
    block_shape: Sequence[int] | None = None,
    per_channel_quant: bool = False,
    down_moe: bool = False,
) -> str:
    """The name of the file for `E` experts of the width `N` on this machine's device."""
    parts = [f"E={E}", f"N={N}", f"device_name={get_device_name().replace(' ', '_')}"]
    if dtype:
        parts.append(f"dtype={dtype}")
    if block_shape and all(block_shape):
        parts.append(f"block_shape={list(block_shape)}")
    if per_channel_quant:
        parts.append("per_channel_quant=True")
    return ",".join(parts) + ("_down" if down_moe else "") + ".json"


def read_configs(file: str | Path) -> dict[int, dict[str, Any]]:
    """The configurations in `file`, by batch size. ValueError for a file of another shape, OSError where it cannot be read."""
    configs = json.loads(Path(file).read_text(encoding="utf-8"))
    if not isinstance(configs, dict) or not all(
        str(key).isdigit() and isinstance(configs[key], dict) for key in configs
    ):
        raise ValueError(f"{file}: expected an object of batch sizes, each with a configuration")
    return {int(key): value for key, value in configs.items()}
