"""What torch.cuda has and the backend's namespace lacks: a call raises a clear error, or does nothing where that is harmless.

This area comes after those that replace what the backend offers. The functions that are still torch's own and call C functions of
CUDA builds would raise errors about torch's internals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.cuda._cuda_only_functions import Missing, is_torchs_own
from torchada.redirect.calls import disguise, original_of, plain
from torchada.redirect.context import Context
from torchada.redirect.engine import Kind, Patch, Skip
from torchada.redirect.namespaces import holders
from torchada.redirect.unsupported import error, unsupported

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction, DeviceLike

# What a program may call although the backend lacks it, and what the call returns: nothing is cached, no work is pending, no
# statistics are kept. docs/extending.md has the list.
HARMLESS: dict[str, object] = {
    "empty_cache": None,
    "get_arch_list": [],
    "init": None,
    "ipc_collect": None,
    "is_current_stream_capturing": False,
    "is_initialized": True,
    "reset_accumulated_memory_stats": None,
    "reset_peak_memory_stats": None,
    "synchronize": None,
    "_is_in_bad_fork": False,
    "_lazy_init": None,
}
# They check that a function exists before they call it.
_CAREFUL = frozenset({"is_available", "is_bf16_supported", "_get_device_index"})
# What functions of torch.cuda read there, and what functions that another area has replaced read in the namespace.
_READ = (
    "cudart",
    "_cudart",
    "default_generators",
    "get_arch_list",
    "get_device_properties",
    "mem_get_info",
    "memory_reserved",
)
_OF_AREAS = {
    "caching_allocator_alloc": "stream",
    "device_memory_used": "mem_get_info",
    "get_device_properties": "get_device_properties",
    "get_gencode_flags": "get_arch_list",
    "list_gpu_processes": "memory_reserved",
    "set_per_process_memory_fraction": "set_per_process_memory_fraction",
}
_OF_THE_MANAGEMENT_LIBRARY = ("clock_rate", "memory_usage", "power_draw", "temperature", "utilization")
_MODULES = ("", "memory", "random", "streams", "graphs", "profiler")
_EMULATED: Kind = "emulated"
_UNSUPPORTED: Kind = "unsupported"

Calls = dict[str, Callable[..., object]]


def patches(context: Context) -> Iterator[Patch]:
    lacking = list(_lacking(context))
    if not lacking:
        raise Skip(f"torch.{context.backend.namespace} lacks nothing of torch.cuda")
    yield from lacking


def _lacking(context: Context) -> Iterator[Patch]:
    cuda = vars(context.torch.cuda)
    absent = frozenset(name for name in _READ if not _has(context, name.lstrip("_")))
    missing = Missing(context.torch, _CAREFUL, absent)
    answers = {name: call for name, call in _answers(context).items() if missing.stops(cuda.get(name))}
    answers.update({name: call for name, call in _exchanges(context).items() if _is_torchs(cuda.get(name))})
    places = {id(cuda[name]): (disguise(call, cuda[name]), name, _EMULATED) for name, call in answers.items()}
    marks = {}
    if missing.stops(cuda["cudart"]):
        from torchada.areas.cuda._profiler_marks import functions  # most backends have a runtime

        marks = functions(context)
    for path, (value, call) in marks.items():
        places[id(value)] = disguise(call, value), path, _EMULATED
    answered = answers.keys() | {path.rpartition(".")[2] for path in marks}
    # What else of the runtime a function calls is not answered.
    missing = Missing(context.torch, _CAREFUL | answered, absent - answers.keys())
    for name, value, why in _refused(context, missing):
        refuse = unsupported(context, f"torch.cuda.{name}", why)
        if isinstance(value, type):
            yield Patch(value, "__new__", staticmethod(refuse), f"torch.cuda.{name}", kind=_UNSUPPORTED)
        elif id(value) not in places:
            places[id(value)] = _in_the_place_of(value, refuse), name, _UNSUPPORTED
    yield from _everywhere(places)


def _in_the_place_of(value: Any, refuse: AnyFunction) -> AnyFunction:
    """`refuse`, also as `__wrapped__` where `value` has that attribute: torch 2.15 reads the one of torch.cuda.use_mem_pool."""
    call = disguise(refuse, value)
    if hasattr(value, "__wrapped__"):
        call.__wrapped__ = disguise(plain(refuse), value.__wrapped__)  # type: ignore[attr-defined]
    return call


def _everywhere(places: dict[int, tuple[AnyFunction, str, Kind]]) -> Iterator[Patch]:
    """Patches for all modules that have one of the functions as a global: torch.cuda and torch.cuda.memory share theirs."""
    originals = [original_of(replacement) for replacement, *_ in places.values()]
    for module, name, value in holders(originals) if originals else ():
        replacement, path, kind = places[id(value)]
        yield Patch(module, name, replacement, f"torch.cuda.{path}", kind=kind)


def _has(context: Context, name: str) -> bool:
    return hasattr(context.namespace, context.backend.names.own(name).partition(".")[0])


def _refused(context: Context, missing: Missing) -> Iterator[tuple[str, object, str]]:
    """What cannot work: its path in torch.cuda, the function or class, and the reason."""
    for path in _MODULES:
        module = getattr(context.torch.cuda, path) if path else context.torch.cuda
        for name, value in list(vars(module).items()):
            if name.startswith("_") or name in _CAREFUL or not callable(value):
                continue
            why = _why(context, name, missing.stops(value))
            if why:
                yield (f"{path}.{name}" if path and name not in vars(context.torch.cuda) else name), value, why


def _why(context: Context, name: str, stops: bool) -> str:
    backend, asked = context.backend, _OF_AREAS.get(name)
    if backend.management is None and name in _OF_THE_MANAGEMENT_LIBRARY:
        return f"{backend.adapter} names no management library"
    if stops or (asked is not None and not _has(context, asked)):
        return f"torch.{backend.namespace} has no {backend.names.own(asked or name)}"
    return ""


def _answers(context: Context) -> Calls:
    """Harmless replacements for functions that cannot work."""
    answers: Calls = {name: _answer(value) for name, value in HARMLESS.items()}
    answers["set_device"] = _set_device(context)
    return {**answers, "current_device": _answer(0)} if context.backend.single else answers


def _answer(value: object) -> AnyFunction:
    def answer(*args: object, **kwargs: object) -> object:
        return list(value) if isinstance(value, list) else value

    return answer


def _set_device(context: Context) -> Callable[[DeviceLike], None]:
    """If there is one device, it is always the current one."""
    cuda = context.torch.cuda

    def set_device(device: DeviceLike) -> None:
        index = cuda._get_device_index(device)
        if index > 0 or cuda.device_count() > 1:
            raise error(context, "torch.cuda.set_device", f"torch.{context.backend.namespace} has no set_device")

    return set_device


def _is_torchs(exchange: object) -> bool:
    """CUDA builds have C functions there."""
    return is_torchs_own(exchange) or getattr(exchange, "__name__", "").startswith("_cuda_")


def _exchanges(context: Context) -> Calls:
    """What torch.cuda.device and torch.cuda.device_of call: two functions, because dynamo distinguishes them by identity."""
    cuda = context.torch.cuda

    def exchange(device: int) -> int:
        before = int(cuda.current_device())
        if device >= 0 and device != before:
            cuda.set_device(device)
        return before

    return {name: plain(exchange) for name in ("_exchange_device", "_maybe_exchange_device")}
