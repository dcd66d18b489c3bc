"""Process groups named "nccl" serve the devices cuda and cpu: a tensor of the device is in the memory of its process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.entry_point import EntryPoint

_NAME = "nccl"
_GATHERS = ("all_gather_single", "all_gather_into_tensor")


def patches(context: Context) -> Iterator[Patch]:
    if not context.torch.distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    distributed = context.torch.distributed
    c10d = distributed.distributed_c10d
    note = "groups named NCCL take tensors of the processes"
    yield Patch(c10d.Backend.backend_capability, _NAME, ["cuda"], None, note=note)
    devices = disguise(
        _with_the_cpu(c10d.BackendConfig.get_device_backend_map), c10d.BackendConfig.get_device_backend_map
    )
    yield Patch(c10d.BackendConfig, "get_device_backend_map", devices, None, note=note)
    if hasattr(c10d, "_nccl2_device"):
        yield Patch(
            c10d, "_nccl2_device", _no_device, None, note=f"{note}, of torch 2.15 too, which binds them to a device"
        )
    init = EntryPoint(c10d.init_process_group, _without_device(c10d.init_process_group))
    for owner in (distributed, c10d):
        yield Patch(owner, "init_process_group", init, "torch.distributed.init_process_group(device_id)")
    for name in _GATHERS:
        original = getattr(c10d, name, None)
        if original is not None:
            gather = EntryPoint(original, _flat(original))
            for owner in (distributed, c10d):
                if name in vars(owner):
                    yield Patch(owner, name, gather, None, note=f"{name} with tensors of any shapes of that size")


def _with_the_cpu(original: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """What serves the device serves the CPU, as whose tensors torch knows those of the device, unless a program says otherwise."""

    def get_device_backend_map(self: Any) -> dict[str, Any]:
        served = original(self)
        return {**served, "cpu": served["cuda"]} if "cuda" in served and "cpu" not in served else served

    return get_device_backend_map


def _no_device(*args: object) -> None:
    """The device that a group is bound to."""


def _flat(original: Callable[..., Any]) -> Callable[..., Any]:
    """Gloo divides the output by its first dimension, whatever its length; NCCL takes both tensors for rows of numbers."""

    def gather(output: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        if output.is_contiguous() and input.is_contiguous():
            return original(output.view(-1), input.view(-1), *args, **kwargs)
        return original(output, input, *args, **kwargs)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [kwargs.pop(name) for name in ("output_tensor", "input_tensor") if name in kwargs]
        return gather(*args[:2], *given, *args[2:], **kwargs)

    return call


def _without_device(original: Callable[..., Any]) -> Callable[..., Any]:
    """A device to bind the group to has to be the accelerator's for torch, and there is nothing to bind. It chooses the backend."""

    def init_process_group(backend: Any = None, *args: Any, device_id: Any = None, **kwargs: Any) -> Any:
        if backend is None and device_id is not None:
            backend = _NAME
        return original(backend, *args, **kwargs)

    return init_process_group
