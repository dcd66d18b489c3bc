"""APIs that only NVIDIA offers: jiterator, GPUDirect Storage, green contexts, TunableOp, NVRTC. Each raises a clear error."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import error, unsupported, unsupported_class

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction

_JIT = (
    "it compiles CUDA source with NVRTC while the program runs; write the operation in PyTorch, or build an extension"
)
_GDS = "GPUDirect Storage is NVIDIA's; read into host memory and copy"
_GREEN = "a device cannot be divided this way"
_TUNABLE = "there are no tunable GEMMs here"
_DRIVER = "NVIDIA's driver is asked"
_HOOKS = "the graphs of the backend call no hooks"
_OF_GRAPHS = (
    *("export_dot", "export_graph_data"),
    *("register_graph_capture_start_hook", "register_graph_capture_end_hook", "register_graph_instantiate_hook"),
    *("register_graph_replay_start_hook", "register_graph_replay_end_hook", "register_graph_destroy_hook"),
)
_ABSENT = {
    "torch.cuda": {
        "_compile_kernel": _JIT,
        "_primary_context_devices": _DRIVER,
        "GreenContext": _GREEN,
        "export_dot": _HOOKS,
        "export_graph_data": _HOOKS,
    },
    "torch.cuda.graphs": {**dict.fromkeys(_OF_GRAPHS, _HOOKS), "_dump_graph_dot": _DRIVER},
    "torch.cuda._utils": {"_nvrtc_compile": _JIT, "_cuda_load_module": _JIT, "_get_nvrtc_library": _JIT},
    "torch.cuda.gds": {"gds_register_buffer": _GDS, "gds_deregister_buffer": _GDS, "GdsFile": _GDS},
    "torch.cuda.green_contexts": {
        "GreenContext": _GREEN,
        "_get_driver_version": _DRIVER,
        "_get_locality_domain_count": _DRIVER,
    },
    "torch.cuda.memory": {"_annotate_tensor": "the backend's allocator keeps no notes about tensors"},
    "torch.cuda.tunable": {"_clear_all": _TUNABLE, "_pop_dynamic_dims_mask": _TUNABLE},
}
# torch.cuda.tunable is always off; its functions return these values then.
_OFF: dict[str, object] = {
    "is_enabled": False,
    "tuning_is_enabled": False,
    "record_untuned_is_enabled": False,
    "wildcard_fallback_is_enabled": False,
    "get_results": (),
    "get_validators": (),
}
_SWITCHES = frozenset({"enable", "tuning_enable", "record_untuned_enable", "wildcard_fallback_enable"})


def patches(context: Context) -> Iterator[Patch]:
    for module_name, names in _ABSENT.items():
        module = _module(context, module_name)
        for name, why in names.items():
            if module is not None and name in vars(module):
                yield _refusing(context, module, name, why)
    yield from _one_locality(context)
    # The call raises and not the creation: programs create such functions at import, and may never call them.
    call = unsupported(context, "torch.cuda.jiterator", _JIT, context.torch.cuda.jiterator._JittedFunction.__call__)
    yield Patch(
        context.torch.cuda.jiterator._JittedFunction, "__call__", call, "torch.cuda.jiterator", kind="unsupported"
    )
    if hasattr(context.torch.cuda, "tunable"):
        yield from _tunable(context, context.torch.cuda.tunable)


def _one_locality(context: Context) -> Iterator[Patch]:
    """A device is one domain, as torch says where NVIDIA's driver is too old to be asked."""
    module, name = _module(context, "torch.cuda.green_contexts"), "_is_locality_software_supported"
    if module is not None and name in vars(module):
        api = f"{module.__name__}.{name}"
        yield Patch(module, name, _answer(False, vars(module)[name]), api, kind="emulated", to="one domain")


def _module(context: Context, name: str) -> ModuleType | None:
    module: object = context.torch
    for part in name.split(".")[1:]:
        module = getattr(module, part, None)
    return module if isinstance(module, ModuleType) else None


def _refusing(context: Context, module: ModuleType, name: str, why: str) -> Patch:
    api, original = f"{module.__name__}.{name}", vars(module)[name]
    if isinstance(original, type):
        return Patch(module, name, unsupported_class(context, api, why), api, kind="unsupported")
    return Patch(module, name, unsupported(context, api, why, original), api, kind="unsupported")


def _tunable(context: Context, tunable: ModuleType) -> Iterator[Patch]:
    """It is always off: switching it off does nothing, and every other call raises an error."""
    for name in tunable.__all__:
        if name not in vars(tunable):
            continue
        api = f"torch.cuda.tunable.{name}"
        if name in _OFF:
            yield Patch(tunable, name, _answer(_OFF[name], vars(tunable)[name]), api, kind="emulated", to="off")
        elif name in _SWITCHES:
            yield Patch(tunable, name, _switch(context, api, vars(tunable)[name]), api, kind="emulated", to="off")
        else:
            yield _refusing(context, tunable, name, _TUNABLE)


def _answer(value: object, original: AnyFunction) -> AnyFunction:
    def answer() -> object:
        return value

    return disguise(answer, original)


def _switch(context: Context, api: str, original: AnyFunction) -> AnyFunction:
    def switch(val: bool = True) -> None:
        if val:
            raise error(context, f"{api}(True)", _TUNABLE)

    return disguise(switch, original)
