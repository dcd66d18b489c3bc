"""torch._C._cuda_*: the backend's own C functions under CUDA's names, for code that imports them from there.

Much of torch.cuda's Python (the raw allocator, streams of other libraries, memory fractions) works as it is on top of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.areas.cuda._native_names import native_names
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

# Its presence is how torch.cuda._is_compiled, and so is_available, find CUDA.
_DETECTION = "_cuda_getDeviceCount"
# Not counterparts of anything: a submodule with names of its own, a number, and what the backend calls at its import.
_OWN = frozenset({"_cudart", "_cuda_version", "_cuda_register_device_hook"})
# Of other arguments than CUDA's: cuda_pools answers them.
_OTHER_ARGUMENTS = frozenset(
    {"_cuda_memorySnapshot", "_cuda_record_memory_history", "_cuda_record_memory_history_legacy"}
)


def patches(context: Context) -> Iterator[Patch]:
    names = native_names(context)
    if not names:
        raise Skip(f"torch.{context.backend.namespace} shows no native module")
    left_out = _OWN | _OTHER_ARGUMENTS | (set() if context.settings.force_cuda_available else {_DETECTION})
    for cuda, (name, own) in names.items():
        if cuda not in left_out:
            to = f"torch.{context.backend.namespace}.{context.backend.native.module}.{name}"
            yield Patch(context.torch._C, cuda, own, f"torch._C.{cuda}", kind="same", to=to)
