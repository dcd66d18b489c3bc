"""torch.profiler, torch.autograd.profiler and torch.cuda.profiler.

The classes stay the same. ProfilerActivity.CUDA and use_device="cuda" mean the backend's device, and events have the attributes
whose names contain cuda, even if torch has removed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.by_view import by_view
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.kept_names import kept_name, renamed_by_view, text_by_view
from torchada.redirect.unsupported import unsupported

if TYPE_CHECKING:
    from torch.autograd.profiler_util import FunctionEvent
    from torch.profiler import ProfilerActivity

    from torchada.redirect.types import AnyFunction

    Activities = set[ProfilerActivity]

# torch renamed cuda_* to device_*, kept some of the old names, and plans to remove those too.
_OLD_NAMES = (
    "cuda_time",
    "cuda_time_str",
    "cuda_time_total",
    "cuda_time_total_str",
    "self_cuda_time_total",
    "self_cuda_time_total_str",
    "cuda_memory_usage",
    "self_cuda_memory_usage",
)


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    autograd, kineto = torch.autograd.profiler, torch.profiler.profiler
    supported = torch.autograd._supported_activities
    yield Patch(
        torch.autograd,
        "_supported_activities",
        _supported_activities(context, supported),
        "torch.profiler.supported_activities",
    )
    yield Patch(
        kineto._KinetoProfile,
        "__init__",
        _kineto_init(context, kineto._KinetoProfile.__init__, supported),
        "torch.profiler.profile(activities=[ProfilerActivity.CUDA])",
        to="ProfilerActivity.PrivateUse1",
    )
    yield Patch(
        autograd.profile,
        "__init__",
        _autograd_init(context, autograd.profile.__init__),
        'torch.autograd.profiler.profile(use_device="cuda")',
    )
    yield Patch(
        autograd.profile,
        "_parse_kineto_results",
        _parse_results(context, autograd.profile._parse_kineto_results),
        None,
        note='times of torch.autograd.profiler.profile(use_device="cuda")',
    )
    util = torch.autograd.profiler_util
    for owner in (kineto._KinetoProfile, autograd.profile, util.FunctionEvent, util.FunctionEventAvg):
        kept = kept_name(context, owner, "use_device")
        yield Patch(owner, "use_device", kept, None, note=f"{owner.__name__}.use_device by who asks")
    for owner in (util.FunctionEvent, util.FunctionEventAvg):
        text = text_by_view(context, owner.__repr__)
        yield Patch(owner, "__repr__", text, None, note=f"repr of {owner.__name__} by who asks")
    yield from _events(context)
    yield from _rows(context)
    yield from _vendor_tool(context)


def _supported_activities(context: Context, original: Callable[[], Activities]) -> Callable[[], Activities]:
    activity = context.torch.profiler.ProfilerActivity

    def of_cuda() -> Activities:
        return {*original(), activity.CUDA} - {activity.PrivateUse1}

    def of_both() -> Activities:
        return {*original(), activity.CUDA}

    return by_view(context.views, of_cuda, disguise(of_both, original, "autograd._supported_activities"))


def _kineto_init(context: Context, original: AnyFunction, supported: Callable[[], Activities]) -> AnyFunction:
    activity = context.torch.profiler.ProfilerActivity

    def on_device(entry: object) -> object:
        if isinstance(entry, dict):  # an activity with the names of the data to collect
            from torchada.areas.cuda._timeline import kinds_as_backend  # not needed by `import torch`

            return {on_device(key): kinds_as_backend(value) for key, value in entry.items()}
        return activity.PrivateUse1 if entry == activity.CUDA else entry

    def on_devices(activities: Iterable[object]) -> list[object]:
        given = list(activities)
        # A program that passes all of supported_activities() names the device twice.
        twice = activity.CUDA in given
        return [on_device(entry) for entry in given if not (twice and entry == activity.PrivateUse1)]

    def default() -> Activities:
        return {*supported(), activity.PrivateUse1}

    def __init__(self: object, *, activities: Iterable[object] | None = None, **kwargs: object) -> None:
        original(self, activities=default() if activities is None else on_devices(activities), **kwargs)

    return disguise(__init__, original)


def _autograd_init(context: Context, original: AnyFunction) -> AnyFunction:
    devices, device_type = context.devices, context.backend.device_type

    def __init__(
        self: Any, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, **kwargs: object
    ) -> None:
        use_device = device_type if use_cuda else devices.translate(use_device)
        original(self, enabled, use_device=use_device, **kwargs)
        self.use_cuda = bool(use_cuda)

    return disguise(__init__, original)


def _parse_results(context: Context, original: Callable[..., list[FunctionEvent]]) -> AnyFunction:
    """torch 2.7 reads the times between its events around operators only if the device is called "privateuseone"."""
    by_events, device_type = (
        context.torch.autograd.ProfilerState.KINETO_PRIVATEUSE1_FALLBACK,
        context.backend.device_type,
    )

    def _parse_kineto_results(self: Any, *args: object, **kwargs: object) -> list[FunctionEvent]:
        events = original(self, *args, **kwargs)
        if self.profiler_kind != by_events or any(event.is_legacy for event in events):
            return events
        self.use_device = "privateuseone"
        try:
            events = original(self, *args, **kwargs)
        finally:
            self.use_device = device_type
        for event in events:
            event.use_device = device_type
        return events

    return disguise(_parse_kineto_results, original)


def _events(context: Context) -> Iterator[Patch]:
    util = context.torch.autograd.profiler_util
    yield Patch(
        util.FunctionEvent,
        "__init__",
        _event_init(context, util.FunctionEvent.__init__),
        None,
        note="event.device_type == DeviceType.CUDA",
    )
    kinds = context.torch.autograd.DeviceType
    for event in (util.FunctionEvent, util.FunctionEventAvg):
        kept = kept_name(context, event, "device_type", kinds.CUDA, kinds.PrivateUse1)
        yield Patch(event, "device_type", kept, None, note=f"{event.__name__}.device_type by who asks")
        for name in _OLD_NAMES:
            current = name.replace("cuda", "device")
            if not hasattr(event, name):
                api = f"torch.autograd.profiler_util.{event.__name__}.{name}"
                yield Patch(event, name, _reading(current), api, to=current)


def _rows(context: Context) -> Iterator[Patch]:
    """Code that sees CUDA reads CUDA's names of calls, copies and collectives, in events, tables and exported timelines."""
    profile, util = context.torch.autograd.profiler.profile, context.torch.autograd.profiler_util

    def renamed(name: object) -> object:
        from torchada.areas.cuda._timeline import row_as_cuda  # not needed by `import torch`

        return row_as_cuda(context.backend)(name) if isinstance(name, str) else name

    names = {util.FunctionEvent: ("name", "trace_name", "key"), util.FunctionEventAvg: ("key",)}
    for event, attributes in names.items():
        for name in attributes:
            kept = renamed_by_view(context, event, name, renamed)
            yield Patch(event, name, kept, None, note=f"{event.__name__}.{name} by who asks")
    table = _table(context, util.EventList.table)
    yield Patch(
        util.EventList, "table", table, None, note="EventList.table by who asks, whatever of torch is in between"
    )
    export = _export(context, profile.export_chrome_trace)
    yield Patch(profile, "export_chrome_trace", export, None, note="rows of an exported timeline by who asks")


def _table(context: Context, original: Callable[..., str]) -> Callable[..., str]:
    def table(*args: object, **kwargs: object) -> str:
        from torchada.areas.cuda._timeline import table_as_cuda  # hardly any program asks for a table
        from torchada.redirect.backend_words import is_for_cuda

        text = original(*args, **kwargs)
        return table_as_cuda(context.backend)(text) if is_for_cuda(context.views) else text

    return disguise(table, original)


def _export(context: Context, original: AnyFunction) -> AnyFunction:
    def cuda(self: Any, path: str, *args: object, **kwargs: object) -> Any:
        answer = original(self, path, *args, **kwargs)
        from torchada.areas.cuda._timeline import file_as_cuda

        file_as_cuda(context.backend, path)
        return answer

    return by_view(context.views, cuda, original)


def _reading(name: str) -> property:
    return property(lambda event: getattr(event, name), doc=f"The old name of `{name}`.")


def _event_init(context: Context, original: AnyFunction) -> AnyFunction:
    own = context.torch.autograd.DeviceType.PrivateUse1
    either = _device_type_of_both(context.torch.autograd.DeviceType)

    def __init__(self: FunctionEvent, *args: object, **kwargs: object) -> None:
        original(self, *args, **kwargs)
        if self.device_type == own:
            self.device_type = either

    return disguise(__init__, original)


def _device_type_of_both(device_type: Any) -> Any:
    """DeviceType.PrivateUse1 by name, value and hash, which also equals DeviceType.CUDA: code for either finds its events.

    It is an instance of a subclass, because Python then calls its __eq__ first in `DeviceType.CUDA == event.device_type`.
    """
    own, cuda = device_type.PrivateUse1, device_type.CUDA

    def __eq__(self: object, other: object) -> bool:
        return isinstance(other, device_type) and int(other) in (int(own), int(cuda))

    entries = {
        "__eq__": __eq__,
        "__ne__": lambda self, other: not __eq__(self, other),
        "__hash__": lambda self: hash(own),
        # torch's own `name` is found by comparing values.
        "name": property(lambda self: own.name),
        "__str__": lambda self: str(own),
        "__repr__": lambda self: repr(own),
        "__reduce_ex__": lambda self, protocol: (device_type, (int(own),)),
    }
    return type("DeviceType", (device_type,), {**entries, "__module__": device_type.__module__})(int(own))


def _vendor_tool(context: Context) -> Iterator[Patch]:
    """torch.cuda.profiler controls when an NVIDIA profiler that has started the program collects data."""
    profiler = context.torch.cuda.profiler
    for name in ("start", "stop"):
        call = disguise(_initialize(context), getattr(profiler, name))
        yield Patch(profiler, name, call, f"torch.cuda.profiler.{name}", kind="emulated", to="no tool collects data")
    if hasattr(profiler, "init"):  # CUDA 12 refuses it as well
        why = "start() and stop() need no preparation"
        refuse = unsupported(context, "torch.cuda.profiler.init", why, profiler.init)
        yield Patch(profiler, "init", refuse, "torch.cuda.profiler.init", kind="unsupported")


def _initialize(context: Context) -> Callable[[], None]:
    """The part of the call that a program can notice: the device is initialized afterwards."""
    cuda = context.torch.cuda

    def initialize() -> None:
        cuda._lazy_init()

    return initialize
