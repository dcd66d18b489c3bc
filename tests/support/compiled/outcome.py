"""The outcome of a program, as JSON: its answer with devices and dtypes, or its exception with its text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch


def outcome(call: Callable[[], Any]) -> Any:
    """The answer of `call`, or what it raises."""
    try:
        return describe(call())
    except Exception as error:
        return ["raised", *_raised(type(error).__name__, str(error).strip())]


def _raised(kind: str, text: str) -> tuple[str, str]:
    """Type and first line; of an operator that fails while torch.compile tries it, those of the error it reports."""
    found = re.search(r"got (\w+)\(([\"'])(.*?)(?:\\n.*)?\2\)", text) if kind == "TorchRuntimeError" else None
    if found:
        kind, text = found[1], found[3]
    return kind, text.splitlines()[0] if text else ""


def describe(value: Any) -> Any:
    """Everything about `value` that a program can distinguish; for objects without a value, their type."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(describe, value)]
    if isinstance(value, dict):
        return {str(key): describe(entry) for key, entry in value.items()}
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, torch.device, torch.dtype)):
        return [type(value).__name__, repr(value)]
    return ["object", type(value).__qualname__]


def types_only(seen: Any) -> Any:
    """`seen` without values."""
    if isinstance(seen, dict):
        return sorted(seen)
    if seen[0] in ("tensor", "raised"):
        return seen[:4]
    return [seen[0], *(types_only(entry) for entry in seen[1:] if isinstance(entry, (list, dict)))]


def as_cuda(seen: Any) -> Any:
    """`seen` with CUDA's names, because an error of the native program names its own device."""
    if isinstance(seen, dict):
        return {as_cuda(key): as_cuda(value) for key, value in seen.items()}
    if isinstance(seen, list):
        # An error of the device is a RuntimeError to torch_musa, and a kind of one of its own to CUDA.
        plain = ["raised", "RuntimeError", *seen[2:]] if seen[:2] == ["raised", "AcceleratorError"] else seen
        return [as_cuda(entry) for entry in plain]
    if not isinstance(seen, str):
        return seen
    # A name that this torch lacks is missing in modules of different names.
    seen = re.sub(r"^module '[\w.]+' has no attribute", "module has no attribute", seen)
    return re.sub("musa|cuda", "cuda", seen, flags=re.IGNORECASE)


def _tensor(value: torch.Tensor) -> list[Any]:
    kind = [str(value.dtype), str(value.device), str(list(value.shape)), str(value.layout), value.requires_grad]
    if value.is_nested or value.is_quantized or value.is_meta:
        return ["tensor", *kind]
    dense = value.detach() if value.layout is torch.strided else value.detach().to_dense()
    return ["tensor", *kind, repr(dense.cpu().tolist())]
