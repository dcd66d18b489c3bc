"""Inductor's tables of devices: what a program asks of CUDA's entry, or registers there, is the backend's.

The entries that torch itself makes for CUDA stay, beside those that the backend has registered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_NAMES = (
    "register_backend_for_device",
    "get_backend_features",
    "has_backend_feature",
    "get_scheduling_for_device",
    "get_wrapper_codegen_for_device",
    "get_custom_backend_pass_for_device",
    "get_custom_backend_config_for_device",
    "register_device_op_overrides",
    "get_device_op_overrides",
)


def patches(context: Context) -> Iterator[Patch]:
    import torch._inductor.codegen.common as common

    for name in _NAMES:
        original = getattr(common, name, None)
        if original is not None:
            call = _of_the_backend(context, original)
            yield Patch(common, name, call, f"torch._inductor.codegen.common.{name}")


def _of_the_backend(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    names = context.devices

    def call(*args: Any, **kwargs: Any) -> Any:
        if _asked_by_inductor(sys._getframe(1)):
            return original(*args, **kwargs)
        if args:
            args = (names.translate(args[0]), *args[1:])
        elif "device" in kwargs:
            kwargs["device"] = names.translate(kwargs["device"])
        return original(*args, **kwargs)

    return disguise(call, original)


def _asked_by_inductor(frame: Any) -> bool:
    """Whether torch is filling its own table, or looking into it for a device whose right name it knows."""
    return str(frame.f_globals.get("__name__", "")).startswith("torch._inductor.")
