"""Files of tuned tables for fused mixture-of-experts kernels, in the form that SGLang and vLLM read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchada.triton.runtime.fused_moe.config import get_config_dtype_str, get_config_file_name, read_configs

if TYPE_CHECKING:
    import torch

Config = Mapping[str, Any]
_ORDER = (
    "BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages", "waves_per_eu", "USE_TMA",
)  # fmt: skip
_OPTIONAL = 2


def sort_config(config: Config) -> dict[str, Any]:
    """The entries of `config` that a kernel takes, in the order of tables; KeyError where a needed one is missing."""
    needed = {name: config[name] for name in _ORDER[:-_OPTIONAL]}
    return needed | {name: config[name] for name in _ORDER[-_OPTIONAL:] if name in config}


def save_configs(configs: Mapping[int, Config], filename: str | Path) -> None:
    """Write `configs`, by batch size, to `filename`, whole or not at all."""
    file = Path(filename)
    new = file.with_name(f"{file.name}.{os.getpid()}")
    new.write_text(json.dumps(configs, indent=4) + "\n", encoding="utf-8")
    new.replace(file)


def merge_configs(configs: Mapping[int, Config], filename: str | Path) -> dict[int, Config]:
    """`configs` over those that `filename` has, in the order of batch sizes: a run measures some sizes, a table has all."""
    stored: dict[int, Config] = dict(read_configs(filename)) if os.path.exists(filename) else {}
    merged = stored | dict(configs)
    return {size: merged[size] for size in sorted(merged)}


def get_config_filename(
    num_experts: int,
    shard_intermediate_size: int,
    hidden_size: int,
    topk: int,
    dtype: torch.dtype,
    use_fp8_w8a8: bool,
    use_int8_w8a8: bool,
    use_int8_w8a16: bool,
    use_int4_w4a16: bool,
    per_channel_quant: bool,
    block_shape: Sequence[int] | None,
    is_gated: bool = True,
) -> str:
    """The file's name for a layer. A gated one holds two matrices in `shard_intermediate_size`, int4 two values in a byte."""
    kind = get_config_dtype_str(dtype, use_int8_w8a16, use_int4_w4a16, use_fp8_w8a8, use_int8_w8a8)
    width = shard_intermediate_size // (2 if is_gated else 1) // (2 if use_int4_w4a16 else 1)
    return get_config_file_name(num_experts, width, kind, block_shape, per_channel_quant)
