"""torch_musa for machines without a Moore Threads GPU: the same names, on a `musa` device simulated by the CPU.

The steps below are in the vendor's order: name the backend, load the native part, publish `torch.musa`, then
change torch. Only `_vendor_torch` stands in for the vendor's patched torch.
"""

# The real package fills its namespace with star imports, so names that it never meant to export are visible in
# `torch.musa`. Programs see these names too, so they are kept, and none are added.
# ruff: noqa: E402, F401, UP006, UP035

import contextlib
import os
import re
import sys
import warnings
from typing import Any, Iterator, Set, Type


def _autoload() -> None:
    """Entry point of torch's backend autoload. It does nothing, because importing the package registers the backend.

    It is defined before `import torch`, because that import may run autoload, which looks up this name here.
    """


import torch
from torch._vendor.packaging.version import Version

torch_musa: Any = sys.modules[__name__]

from musasim.base import release as _release

TORCH_MIN_VERSION = Version(_release.OLDEST_TORCH[_release.name()])
del _release
TORCH_VERSION = Version(torch.__version__).base_version

# The real package also warns when torch has another version. It is built for one only, the simulation for several.
if Version(TORCH_VERSION) < TORCH_MIN_VERSION:
    raise RuntimeError(f"torch_musa needs torch {TORCH_MIN_VERSION} or newer, but this is torch {torch.__version__}")

_backend = torch._C._get_privateuse1_backend_name()
if _backend not in ("privateuseone", "musa"):
    raise RuntimeError(
        f"torch has room for one backend of this kind, and {_backend!r} is already registered: "
        "torch_musa cannot be imported into the same process"
    )
del _backend

torch.utils.backend_registration.rename_privateuse1_backend("musa")

from musasim.build import load

_MUSAC: Any = load()
del load

# Only an attribute, because `import torch.musa` fails with the real package as well.
torch.musa = torch_musa  # type: ignore[attr-defined]
torch.version.musa = _MUSAC._musa_version  # type: ignore[attr-defined]

OutOfMemoryError = torch._C.OutOfMemoryError
_tensor_classes: Set[Type[Any]] = set()

from . import _vendor_torch

_vendor_torch.complete_torch()
_vendor_torch.legacy_tensors.add_types(globals(), _tensor_classes)
# The real package does not have this name, so it must not stay visible here.
del _vendor_torch

from . import _releases

_releases.put_back()

from . import core, distributed, musa_graph, profiler, utils, version
from .core import amp, current_blas_handle, current_blaslt_handle, mccl, memory
from .core._lazy_init import (
    MusaError,
    _initialized,
    _is_in_bad_fork,
    _lazy_call,
    _lazy_init,
    check_error,
    is_initialized,
    musart,
)
from .core.amp.common import amp_definitely_not_available, get_amp_supported_dtype
from .core.ao import nn
from .core.ao.register_helper import _register_ao_intrinsic_modules
from .core.device import Device as device
from .core.device import DeviceOf as device_of
from .core.device import (
    _DeviceGuard,
    _exchange_device,
    _maybe_exchange_device,
    can_device_access_peer,
    current_device,
    device_count,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    is_bf16_supported,
    is_tf32_supported,
    register_musa_hook,
    set_device,
    synchronize,
)
from .core.memory import (
    MemPool,
    MemPoolContext,
    MUSAPluggableAllocator,
    _dump_snapshot,
    _record_memory_history,
    _set_allocator_settings,
    change_current_allocator,
    empty_cache,
    get_allocator_backend,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_all,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    use_mem_pool,
)
from .core.module_attrs import set_module_attributes
from .core.musa import (
    BFloat16Storage,
    BoolStorage,
    ByteStorage,
    CharStorage,
    DoubleStorage,
    FloatStorage,
    HalfStorage,
    IntStorage,
    LongStorage,
    ShortStorage,
)
from .core.ops import register_fake_impl
from .core.random import (
    fork_rng,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .core.reductions import init_reductions
from .core.serialization import register_deserialization
from .core.storage import set_storage_attributes
from .core.stream import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    _set_stream_by_id,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from .core.tensor_attrs import set_torch_attributes
from .distributed import _apply_distributed_patch
from .musa_graph import graphs
from .musa_graph.graphs import (
    MUSAGraph,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
    make_graphed_callables,
    update_musa_graph_with_profile,
)
from .profiler import set_profiler_attributes
from .version import __version__

_releases.publish(torch_musa)
# Nor this one.
del _releases

#: A program or a test can see from this that the module is a simulation.
__simulated__ = True


def _sleep(cycles: int) -> None:
    """Keep the current stream busy for about `cycles` clock cycles."""
    _MUSAC._musa_sleep(cycles)


def ipc_collect() -> bool:
    """Free device memory that other processes have stopped using. Return whether there was any."""
    _lazy_init()
    return bool(_MUSAC._musa_ipc_collect())


def _init_inductor_backend_registration() -> None:
    """Register the device's backend with Inductor, which asks for it when it is first used."""
    from ._inductor import _init_inductor_backend_registration as register

    register()


def set_attributes() -> None:
    """Put the `musa` names on torch's own classes and modules."""
    torch.random.fork_rng = fork_rng
    torch.profiler.ProfilerActivity.MUSA = torch.profiler.ProfilerActivity.PrivateUse1  # type: ignore[attr-defined]
    torch.backends.mudnn = core.mudnn  # type: ignore[attr-defined]
    core._mublas.publish(torch.backends, globals())
    core._rng_grids.publish(globals(), vars(core.random))
    set_torch_attributes()
    set_module_attributes()
    set_storage_attributes()
    set_profiler_attributes()


def overwrite_cuda_api() -> None:
    """Let torch's code for CUDA prepare this device, by the two functions that it calls to prepare its own.

    The real package replaces torch._C._conv_determine_backend_memory_format as well, see `_vendor_torch.convolution`.
    """
    torch.cuda._lazy_init = _lazy_init
    torch.cuda._lazy_call = _lazy_call


def parseEnvForUMM() -> None:
    """Apply `PYTORCH_MUSA_ALLOC_CONF=cpu:unified`: host tensors lie in memory that the device can read."""
    options = re.split(r"[\s,]+", os.environ.get("PYTORCH_MUSA_ALLOC_CONF", "").strip())
    unified = ["cpu", "unified"] in [re.split(":+", option) for option in options]
    os.environ["CPU_UNIFIED_FLAG"] = str(unified)
    if unified:
        _MUSAC._musa_register_unified_cpu_allocator()


@contextlib.contextmanager
def use_unified_cpu_allocator() -> Iterator[None]:
    """Host tensors made inside the block lie in memory that the device can read."""
    _MUSAC._musa_register_unified_cpu_allocator()
    os.environ["CPU_UNIFIED_FLAG"] = "True"
    try:
        yield
    finally:
        _MUSAC._musa_reset_unified_cpu_allocator()
        os.environ["CPU_UNIFIED_FLAG"] = "False"


def __getattr__(name: str) -> Any:
    """Import the extension builder on first use, because it imports setuptools."""
    if name not in ("BuildExtension", "MUSAExtension", "musa_extension"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(utils, name)
    return value


def _apply_sharded_grad_scaler_patch() -> None:
    """torch's gradient scaler for sharded training is torch_musa's, from its import on."""
    distributed._apply_sharded_grad_scaler_patch()


def _apply_patches() -> None:
    set_attributes()
    overwrite_cuda_api()
    register_deserialization()
    init_reductions()
    core.process_group.register_process_group()
    amp.common._hook_autocast_common()
    _register_ao_intrinsic_modules()
    if torch.distributed.is_available():
        _apply_distributed_patch()
        _apply_sharded_grad_scaler_patch()
    parseEnvForUMM()


register_musa_hook()
_apply_patches()
# Last, because a compiler that was imported before this package uses the names above at once.
from ._vendor_torch import compiler, triton_backend

compiler.install()
triton_backend.install()
del compiler, triton_backend
del Any, Iterator
