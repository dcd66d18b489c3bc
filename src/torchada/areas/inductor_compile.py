"""A graph for one device is compiled with that device current, so that candidates are measured there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    import torch._inductor.compile_fx as compile_fx

    device_context = _get_cuda_device_context(context, compile_fx.get_cuda_device_context)
    why = "torch._inductor.compile_fx.get_cuda_device_context"
    yield Patch(compile_fx, "get_cuda_device_context", device_context, why)


def _get_cuda_device_context(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    ours, namespace = context.backend.device_type, context.namespace

    def get_cuda_device_context(gm: Any) -> Any:
        values = (node.meta.get("val") for node in gm.graph.nodes)
        tensors = (value for value in values if isinstance(value, context.torch.Tensor))
        devices = {tensor.device for tensor in tensors if tensor.device.type == ours}
        return namespace.device(devices.pop()) if len(devices) == 1 else contextlib.nullcontext()

    return disguise(get_cuda_device_context, original)
