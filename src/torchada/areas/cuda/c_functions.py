"""torch._C._cuda_*: the backend's own C functions under CUDA's names, for code that imports them from torch._C.

With them, much of torch.cuda's Python code works unchanged: the raw allocator, streams of other libraries, memory fractions.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.areas.cuda._native_names import native_module, native_names
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

# Without a counterpart: a submodule with names of its own, a number, and a function that the backend calls at its import.
_OWN = frozenset({"_cudart", "_cuda_version", "_cuda_register_device_hook"})
# With arguments other than CUDA's; the area pools replaces them.
_OTHER_ARGUMENTS = frozenset(
    {"_cuda_memorySnapshot", "_cuda_record_memory_history", "_cuda_record_memory_history_legacy"}
)
# For CUDA graph trees: functions that name no device, and that only builds of torch for CUDA have, for memory of CUDA's allocator.
_OF_GRAPH_TREES = (
    "_free_And_Remove_DeleterFn",
    "_has_Standard_Deleter",
    "_set_storage_access_error_msg",
    "_set_storage_data_ptr_access_error_msg",
    "_tensors_data_ptrs_at_indices_equal",
)


def patches(context: Context) -> Iterator[Patch]:
    names = native_names(context)
    if not names:
        raise Skip(f"torch.{context.backend.namespace} shows no native module")
    for cuda, (name, own) in {**names, **_same_names(context)}.items():
        if cuda not in _OWN | _OTHER_ARGUMENTS:
            to = f"torch.{context.backend.namespace}.{context.backend.native.module}.{name}"
            yield Patch(context.torch._C, cuda, own, f"torch._C.{cuda}", kind="same", to=to)


def _same_names(context: Context) -> dict[str, tuple[str, object]]:
    native = native_module(context)
    return {name: (name, getattr(native, name)) for name in _OF_GRAPH_TREES if hasattr(native, name)}
