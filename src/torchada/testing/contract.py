"""The contract: what an adapter may offer and has to offer, in one table, and the function that checks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module

from torchada.backends.descriptor import Backend
from torchada.testing.checks import devices, libraries, memory, randomness, registration, streams, tensors
from torchada.testing.report import Outcome, Report, Result
from torchada.testing.subject import Lacks, NotHere, Subject, Wrong


@dataclass(frozen=True)
class Check:
    """`run` raises where something is wrong. It needs the names `needs` of torch.cuda in the adapter's namespace.

    `lacking` says what CUDA code notices if the adapter does not have it; None for what every adapter needs.
    """

    name: str
    run: Callable[[Subject], None]
    needs: tuple[str, ...] = ()
    lacking: str | None = None


_ONE_DEVICE = "CUDA code can use the first device alone"
_NO_STREAMS = "torch.cuda.Stream, Event and current_stream raise UnsupportedError"
_NO_FIGURES = "the functions of torch.cuda that report these figures raise UnsupportedError"
_UNSUPPORTED = "these functions of torch.cuda raise UnsupportedError"

CHECKS = (
    Check("registration.device_type", registration.device_type),
    Check("registration.namespace", registration.namespace),
    Check("registration.signatures", registration.signatures),
    Check("registration.renames", registration.renames),
    Check("registration.native", registration.native, (), "code that imports torch._C._cuda_* does not find it"),
    Check("devices.count", devices.count, ("device_count",)),
    Check("devices.current", devices.current, ("current_device",)),
    Check("devices.synchronize", devices.synchronized, ("synchronize",), "torch.cuda.synchronize() does nothing"),
    Check(
        "devices.available",
        devices.available,
        ("is_available",),
        "a device is taken to be available where one is counted",
    ),
    Check("devices.set", devices.switched, ("set_device",), _ONE_DEVICE),
    Check("devices.refused", devices.refused),
    Check("devices.thread", devices.of_a_thread, ("set_device",), _ONE_DEVICE),
    Check("devices.unnumbered", devices.without_a_number, ("set_device",), _ONE_DEVICE),
    Check("devices.operations", devices.operations_stay),
    Check("devices.context", devices.context, ("device",)),
    Check("devices.properties", devices.properties, ("get_device_properties",), _UNSUPPORTED),
    Check("devices.capability", devices.capability, ("get_device_capability",), _UNSUPPORTED),
    Check("devices.visible", registration.visible_devices),
    Check("tensors.made", tensors.made),
    Check("tensors.copies", tensors.there_and_back),
    Check("tensors.between_devices", tensors.between_devices),
    Check("tensors.views", tensors.views),
    Check("tensors.arithmetic", tensors.arithmetic),
    Check("tensors.numbers", tensors.numbers),
    Check("tensors.mixed", tensors.mixed),
    Check("tensors.gradients", tensors.gradients),
    Check("tensors.training", tensors.trained),
    Check("tensors.saved", tensors.saved),
    Check("tensors.tagged", tensors.tagged),
    Check("tensors.copied", tensors.copied),
    Check("random.torch", randomness.of_torch, ("manual_seed_all", "_is_in_bad_fork")),
    Check("random.device", randomness.of_the_device, ("manual_seed",), _UNSUPPORTED),
    Check("random.all_devices", randomness.of_all_devices, ("manual_seed_all",)),
    Check("random.states", randomness.states, ("get_rng_state", "set_rng_state"), _UNSUPPORTED),
    Check("random.generators", randomness.generators, (), 'torch.Generator("cuda") raises an error of torch'),
    Check(
        "autocast.operations", libraries.autocast, ("get_amp_supported_dtype",), "autocast has no effect, or is refused"
    ),
    Check("streams.current", streams.current, ("Stream", "stream", "current_stream"), _NO_STREAMS),
    Check("streams.work", streams.work, ("Stream", "stream", "current_stream"), _NO_STREAMS),
    Check("streams.events", streams.events, ("Event",), _NO_STREAMS),
    Check(
        "streams.graphs",
        streams.graphs,
        ("CUDAGraph", "Stream", "stream"),
        "torch.cuda.CUDAGraph raises UnsupportedError",
    ),
    Check("memory.allocated", memory.allocated, ("memory_allocated",), _NO_FIGURES),
    Check("memory.peak", memory.peak, ("memory_allocated", "max_memory_allocated"), _NO_FIGURES),
    Check("memory.free", memory.free, ("mem_get_info",), _NO_FIGURES),
    Check("memory.statistics", memory.statistics, ("memory_stats",), _NO_FIGURES),
    Check("memory.cache", memory.cache, ("empty_cache",), "torch.cuda.empty_cache() does nothing"),
    Check("dispatch.keys", registration.dispatch_keys),
    Check("dispatch.kernels", registration.custom_kernel),
    Check("distributed.collectives", libraries.collectives, (), 'init_process_group("nccl") raises an error of torch'),
    Check("build.tools", libraries.build, (), "CUDAExtension is not built for the device"),
    Check(
        "management.library",
        libraries.management,
        (),
        "torch.cuda.utilization, temperature and the like are unsupported",
    ),
)


def check_backend(backend: Backend, only: str = "") -> Report:
    """Try everything that CUDA code expects of a device, on this machine. Imports torch and the backend's adapter.

    `only` is a subject ("tensors") or the name of one check.
    """
    subject = Subject.of(backend)
    chosen = [check for check in CHECKS if not only or only in (check.name, check.name.partition(".")[0])]
    return Report(backend.name, backend.adapter, _versions(subject), tuple(_results(subject, chosen)))


def _results(subject: Subject, checks: Iterable[Check]) -> Iterator[Result]:
    stopped = ""
    for check in checks:
        outcome, detail = _outcome(check, subject) if not stopped else _not_checked(stopped)
        result = Result(check.name, check.lacking is None, outcome, detail, check.lacking or "every adapter needs it")
        yield result
        if result.is_fault and check.run in (registration.device_type, registration.namespace, devices.count):
            stopped = "there is no device to try it with"


def _not_checked(why: str) -> tuple[Outcome, str]:
    return "not checked", why


def _outcome(check: Check, subject: Subject) -> tuple[Outcome, str]:
    absent = [name for name in check.needs if subject.get(name) is None]
    if absent:
        names = ", ".join(map(subject.backend.names.own, absent))
        return "lacks", f"torch.{subject.backend.namespace} has no {names}"
    try:
        check.run(subject)
    except Lacks as lack:
        return "lacks", str(lack)
    except NotHere as reason:
        return _not_checked(str(reason))
    except Exception as error:  # whatever an adapter raises is what the report is about
        return "wrong", _text(error)
    return "offers", ""


def _text(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    return text if isinstance(error, Wrong) else f"{type(error).__name__}: {text}"


def _versions(subject: Subject) -> dict[str, str]:
    adapter = import_module(subject.backend.adapter)
    return {
        "torch": str(subject.torch.__version__),
        subject.backend.adapter: str(getattr(adapter, "__version__", "of unknown version")),
    }
