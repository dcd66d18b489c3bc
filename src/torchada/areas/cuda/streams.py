"""Streams and events: torch.cuda's classes are the backend's. This area adds the attributes that CUDA code reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import getattr_static, signature
from typing import TYPE_CHECKING, Any

from torchada.redirect.by_view import by_view
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.kept_names import text_by_view, text_patches
from torchada.redirect.unsupported import error

if TYPE_CHECKING:
    from types import ModuleType

    from torchada.redirect.types import AnyFunction, DeviceLike, EventLike, StreamLike


def patches(context: Context) -> Iterator[Patch]:
    if not hasattr(context.namespace, "Stream"):
        raise Skip(f"torch.{context.backend.namespace} has no streams of that kind")
    namespace = context.namespace
    stream, event = namespace.Stream, namespace.Event
    yield from _handle(context, stream, "stream", "torch.cuda.Stream.cuda_stream")
    yield from _handle(context, event, "event", "torch.cuda.Event.cuda_event")
    for general in (context.torch.Stream, context.torch.Event):
        yield from text_patches(general, {"__repr__": text_by_view(context, general.__repr__)})
    for owner, text in ((stream, _stream_text), (event, _event_text)):
        shown = by_view(context.views, text, owner.__repr__)
        yield Patch(owner, "__repr__", shown, None, note=f"repr of torch.cuda.{owner.__name__} by who asks")
    made = staticmethod(_stream_new(context, stream))
    # The class stays the backend's: priorities above 0, which it is given, are no other answer of its API.
    own = f"torch.{context.backend.namespace}.Stream"
    yield Patch(stream, "__new__", made, "torch.cuda.Stream", "same", own)
    yield Patch(stream, "__cuda_stream__", _cuda_stream_protocol, "torch.cuda.Stream.__cuda_stream__")
    yield from _events(context, event)
    if not hasattr(namespace, "get_stream_from_external"):
        for owner in (context.torch.cuda, context.torch.cuda.streams):
            original = getattr(owner, "get_stream_from_external", None)
            if original is not None:
                call = _from_external(context, original)
                yield Patch(owner, "get_stream_from_external", call, "torch.cuda.get_stream_from_external")


def _events(context: Context, event: Any) -> Iterator[Patch]:
    make = event.__new__
    if "external" not in signature(make).parameters:
        make = _event_new(context, event)
    if hasattr(event, "elapsed_time") and _refuses_by_value(context.torch):
        make = _marking(make)
        yield Patch(event, "elapsed_time", _elapsed_time(context, event.elapsed_time), "torch.cuda.Event.elapsed_time")
    if make is not event.__new__:
        yield Patch(event, "__new__", staticmethod(make), "torch.cuda.Event")


def _handle(context: Context, owner: type, kind: str, api: str) -> Iterator[Patch]:
    # The backend's own descriptor under a second name, so both names cost the same. A torch without this device has none.
    own = context.backend.names.renames.get(f"cuda_{kind}", f"{context.backend.device_type}_{kind}")
    handle = getattr_static(owner, own, None)
    if handle is not None:
        yield Patch(owner, f"cuda_{kind}", handle, api, to=f"{owner.__qualname__}.{own}")


def _stream_text(self: Any) -> str:
    return f"<torch.cuda.Stream device=cuda:{self.device.index} cuda_stream={self.cuda_stream:#x}>"


def _event_text(self: Any) -> str:
    handle = int(getattr(self, "cuda_event", 0))
    return f"<torch.cuda.Event {handle:#x}>" if handle else "<torch.cuda.Event uninitialized>"


def _refuses_by_value(torch: ModuleType) -> bool:
    """Whether CUDA raises ValueError for events that no time can be measured between; 2.7.1 does not, 2.9.1 does."""
    return tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 9)


def _marking(original: Callable[..., Any]) -> Callable[..., Any]:
    """`original`, which makes an event, with a mark on those that have a time: the backend does not tell."""

    def __new__(cls: type, enable_timing: bool = False, *args: object, **kwargs: object) -> Any:
        made = original(cls, enable_timing, *args, **kwargs)
        if enable_timing:
            made._torchada_has_time = True
        return made

    return __new__


def _elapsed_time(context: Context, original: Callable[..., float]) -> Callable[..., float]:
    def elapsed_time(self: object, end_event: object) -> float:
        try:
            return original(self, end_event)
        except RuntimeError as error:
            from torchada.redirect.backend_words import is_for_cuda  # no error is raised at the start

            untimed = not all(hasattr(event, "_torchada_has_time") for event in (self, end_event))
            if not is_for_cuda(context.views) or not (untimed or "must be recorded" in str(error)):
                raise
            what = (
                "created with argument 'enable_timing=True'" if untimed else "recorded before calculating elapsed time"
            )
            raise ValueError(f"Both events must be {what}.") from None

    return disguise(elapsed_time, original)


def _cuda_stream_protocol(self: StreamLike) -> tuple[int, int]:
    """Version and handle, as the CUDA stream protocol requires. The handle is the backend's."""
    return 0, self.cuda_stream


def _stream_new(context: Context, stream: type[StreamLike]) -> Callable[..., StreamLike]:
    """The priorities of CUDA's pool of streams end at 0: it refuses those above, which torch_musa takes for 0."""
    original: Callable[..., StreamLike] = stream.__new__

    def __new__(cls: type, device: DeviceLike = None, priority: int = 0, **options: Any) -> StreamLike:
        made = original(cls, device, priority, **options)
        if priority > 0 and not options:  # of a stream that is there already, no priority is asked
            from torchada.redirect.backend_words import is_for_cuda  # programs hardly ever ask so

            if is_for_cuda(context.views):
                raise RuntimeError(f"Expected cuda stream priority to be less than or equal to 0, got {priority}")
        return made

    return __new__


def _event_new(context: Context, event: type[EventLike]) -> Callable[..., EventLike]:
    """`external` has a meaning in a capture only, where recording the event becomes a node of the graph."""
    original: Callable[..., EventLike] = event.__new__

    def __new__(
        cls: type,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> EventLike:
        made = original(cls, enable_timing, blocking, interprocess)
        if external:
            made.__class__ = kinds.setdefault(cls, _external(context, cls))
        return made

    kinds: dict[type, type] = {}
    return __new__


def _external(context: Context, cls: type) -> type:
    """`cls` for events that are refused in a capture. As entries of the event, the methods would keep it alive, or lose it."""
    methods = {name: _outside_captures(context, getattr(cls, name)) for name in ("record", "wait")}
    return type(cls.__name__, (cls,), {"__module__": cls.__module__, "__qualname__": cls.__qualname__, **methods})


def _outside_captures(context: Context, original: AnyFunction) -> AnyFunction:
    capturing = context.namespace.is_current_stream_capturing

    def call(self: EventLike, stream: StreamLike | None = None) -> None:
        if capturing():
            raise error(
                context,
                "torch.cuda.Event(external=True) in a capture",
                "its graphs have no event nodes; record or wait for the event before or after replay()",
            )
        original(self, stream)

    return call


def _from_external(context: Context, original: AnyFunction) -> AnyFunction:
    namespace = context.namespace

    def get_stream_from_external(data_ptr: int, device: DeviceLike = None) -> StreamLike:
        # Handle 0 is the default stream; a stream made with it would be a new one.
        return namespace.ExternalStream(data_ptr, device=device) if data_ptr else namespace.default_stream(device)

    return disguise(get_stream_from_external, original)
