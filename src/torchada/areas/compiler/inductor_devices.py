"""torch.compile with Inductor: look-ups that name CUDA get what belongs to the backend's device.

The entries for CUDA that torch itself puts into its tables stay there, next to those that the backend has registered.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch._inductor.template_heuristics.base import TemplateConfigHeuristics
    from torch.fx import GraphModule

    from torchada.redirect.types import R

    Find = Callable[[str, str, str | None], type[TemplateConfigHeuristics] | None]
    Make = Callable[[str, str, str], TemplateConfigHeuristics]


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


def tables(context: Context) -> Iterator[Patch]:
    """A program that looks up CUDA's entry, or registers one, means the backend's."""
    import torch._inductor.codegen.common as common

    for name in _NAMES:
        original = getattr(common, name, None)
        if original is not None:
            call = _of_the_backend(context, original)
            yield Patch(common, name, call, f'torch._inductor.codegen.common.{name}("cuda")')


def cpu(context: Context) -> Iterator[Patch]:
    """torch.compile for the CPU. Up to torch 2.10, what Inductor has to know of it is loaded only if no device is known yet.

    Where the backend has registered itself before, compiled code for the CPU fails with KeyError: 'cpu'.
    """
    import torch._inductor.codegen.common as common

    known: dict[str, object] | None = getattr(common, "device_op_overrides_dict", None)
    if known is None or _is_completed(common):
        raise Skip("this torch knows the CPU in any case")
    from torch._inductor.codegen.cpu_device_op_overrides import CpuDeviceOpOverrides

    note = "what Inductor knows of the CPU, where the backend registered itself first"
    yield Patch(known, "cpu", CpuDeviceOpOverrides(), None, until="torch 2.11", note=note)


def _is_completed(common: ModuleType) -> bool:
    """Whether a device that is missing is added when it is asked for: torch 2.11 and newer."""
    names = common.get_device_op_overrides.__code__.co_names
    return "register_device_op_overrides" in names or "_initialize_device_op_overrides" in names


def _of_the_backend(context: Context, original: Callable[..., R]) -> Callable[..., R]:
    names = context.devices

    def call(*args: object, **kwargs: object) -> R:
        if _is_of_inductor(sys._getframe(1)):
            return original(*args, **kwargs)
        if args:
            args = (names.translate(args[0]), *args[1:])
        elif "device" in kwargs:
            kwargs["device"] = names.translate(kwargs["device"])
        return original(*args, **kwargs)

    return disguise(call, original)


def _is_of_inductor(frame: FrameType) -> bool:
    """Whether torch itself is filling its table, or looking up a device whose real name it has."""
    return str(frame.f_globals.get("__name__", "")).startswith("torch._inductor.")


def current_device(context: Context) -> Iterator[Patch]:
    """A graph for one device is compiled while that device is current, so that candidates are measured there."""
    import torch._inductor.compile_fx as compile_fx

    device_context = _get_cuda_device_context(context, compile_fx.get_cuda_device_context)
    yield Patch(
        compile_fx, "get_cuda_device_context", device_context, None, note="the device that a graph is compiled on"
    )


def _get_cuda_device_context(
    context: Context, original: Callable[[GraphModule], AbstractContextManager[object]]
) -> Callable[[GraphModule], AbstractContextManager[object]]:
    ours, namespace = context.backend.device_type, context.namespace

    def get_cuda_device_context(gm: GraphModule) -> AbstractContextManager[object]:
        values = (node.meta.get("val") for node in gm.graph.nodes)
        tensors = (value for value in values if isinstance(value, context.torch.Tensor))
        devices = {tensor.device for tensor in tensors if tensor.device.type == ours}
        return namespace.device(devices.pop()) if len(devices) == 1 else contextlib.nullcontext()

    return disguise(get_cuda_device_context, original)


def heuristics(context: Context) -> Iterator[Patch]:
    """max-autotune tries CUDA's configurations for a backend that has none of its own."""
    registry = import_module("torch._inductor.template_heuristics.registry")
    if not hasattr(registry, "get_registered_heuristic_class"):
        raise Skip("this torch finds them where it makes them; see candidates")
    yield from _configurations(context, registry, "get_registered_heuristic_class")


def moved_heuristics(context: Context) -> Iterator[Patch]:
    """The same in torch 2.15, which keeps them elsewhere, and has one function under all that look for them."""
    yield from _configurations(context, import_module("torch._inductor.heuristics.registry"), "_lookup")


def _configurations(context: Context, registry: Any, name: str) -> Iterator[Patch]:
    find = _find(context, getattr(registry, name))
    note = "max-autotune's configurations for CUDA"
    yield Patch(registry, name, find, None, note=note, refresh=registry._HEURISTIC_CACHE.clear)


def _find(context: Context, original: Find) -> Find:
    ours = context.backend.device_type

    def find(name: str, device_type: str, op_name: str | None) -> type[TemplateConfigHeuristics] | None:
        registered = original(name, device_type, op_name)
        return original(name, "cuda", op_name) if registered is None and device_type == ours else registered

    return disguise(find, original)


def candidates(context: Context) -> Iterator[Patch]:
    """The same in torch 2.9, whose table has no function that finds an entry without making the object."""
    import torch._inductor.choices as choices

    original: Make | None = vars(choices).get("get_template_heuristic")
    if original is None:
        raise Skip("this torch has no table of them")
    import torch._inductor.template_heuristics.registry as registry

    if hasattr(registry, "get_registered_heuristic_class"):
        raise Skip("this torch has a function that finds them; see heuristics")
    make = _make(context, registry._TEMPLATE_HEURISTIC_REGISTRY, original)
    note = "max-autotune's configurations for CUDA"
    yield Patch(choices, "get_template_heuristic", make, None, until="torch 2.9", note=note)


def _make(context: Context, table: Mapping[tuple[str | None, ...], object], original: Make) -> Make:
    ours = context.backend.device_type

    def get_template_heuristic(template_name: str, device_type: str, op_name: str) -> TemplateConfigHeuristics:
        keys = itertools.product([template_name], [device_type, None], [op_name, None])
        missing = device_type == ours and not any(key in table for key in keys)
        return original(template_name, "cuda" if missing else device_type, op_name)

    return disguise(get_template_heuristic, original)


def subprocesses(context: Context) -> Iterator[Patch]:
    """max-autotune gives each sub-process one device, by the variable that hides the others."""
    import torch._inductor.autotune_process as processes

    # CUDA_VISIBLE_DEVICES itself would not work: if the user has set the backend's own variable, that one is used.
    variable, own = context.backend.visible_devices, context.backend.device_type
    note = "the device of each sub-process of max-autotune"
    yield Patch(processes, "CUDA_VISIBLE_DEVICES", variable, None, note=note, to=variable)
    variables = getattr(processes, "_visible_device_env_var_maps", None)  # from torch 2.15 on
    if variables is not None:
        yield Patch(variables, own, variable, None, note=note, to=variable)
