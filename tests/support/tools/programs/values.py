"""Devices as values: types, annotations, keys, copies."""

from __future__ import annotations

import abc
import copy
import dataclasses
import enum
import functools
import inspect
import typing
import weakref
from typing import Any, NamedTuple, Optional, Union

import torch


def isinstance_of_a_device() -> Any:
    """`isinstance(d, torch.device)`, of a tensor's device too"""
    x = torch.zeros(1, device="cuda")
    return [isinstance(torch.device("cuda", 1), torch.device), isinstance(x.device, torch.device)]


def type_of_a_device() -> Any:
    """`type(d) is torch.device`, and `torch.device` is still a type that cannot be subclassed"""
    try:
        type("Mine", (torch.device,), {})
    except TypeError as error:
        refused = str(error)
    return [type(torch.device("cuda")) is torch.device, type(torch.device), torch.device.__mro__, refused]


def issubclass_of_streams_and_events() -> Any:
    """`issubclass(torch.cuda.Stream, torch.Stream)` and its like"""
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    return [
        isinstance(stream, torch.cuda.Stream),
        isinstance(stream, torch.Stream),
        isinstance(event, torch.Event),
        issubclass(torch.cuda.Stream, torch.Stream),
        issubclass(torch.cuda.ExternalStream, torch.cuda.Stream),
    ]


def types_of_generator_stream_and_event() -> Any:
    """`type(torch.Generator("cuda")) is torch.Generator`, and of `Stream` and `Event`"""
    made = torch.Generator("cuda"), torch.Stream("cuda"), torch.Event("cuda")
    return [type(thing) is getattr(torch, type(thing).__name__) for thing in made]


def text_of_a_device() -> Any:
    """`str`, `repr` and format of a device"""
    device = torch.device("cuda", 1)
    assert str(device) == "cuda:1"
    return [str(device), repr(device), f"{device}", f"{device.type}:{device.index}"]


def the_type_is_cuda() -> Any:
    """`torch.device("cuda").type == "cuda"`"""
    assert torch.device("cuda").type == "cuda"
    return True


def availability() -> Any:
    """`torch.cuda.is_available()`"""
    return torch.cuda.is_available()


def version() -> Any:
    """`torch.version.cuda is not None`"""
    return torch.version.cuda is not None


def compared() -> Any:
    """`x.device == torch.device("cuda:0")`, `!=`, and never equal to a string"""
    device = torch.zeros(1, device="cuda").device
    return [device == torch.device("cuda:0"), device != torch.device("cuda:1"), device == "cuda:0"]


def keys_of_a_dictionary() -> Any:
    """devices as dictionary keys and in sets"""
    table = {torch.device("cuda:0"): "first", torch.device("cuda", 1): "second", torch.device("cpu"): "none"}
    x = torch.zeros(1, device="cuda:1")
    return [table[x.device], table[torch.device(type="cuda", index=0)], len({torch.device("cuda:1"), x.device})]


# Python 3.9 cannot read it.
_MATCH = """if True:
    def which(device):
        match device:
            case torch.device(index=None):
                return "the current one"
            case torch.device(index=index):
                return index
            case str():
                return "text"
"""


def class_patterns() -> Any:
    """`match d: case torch.device(index=1)`"""
    scope: dict[str, Any] = {"torch": torch}
    exec(_MATCH, scope)
    return [scope["which"](each) for each in (torch.device("cuda"), torch.device("cuda:1"), "cuda")]


def optional_annotations() -> Any:
    """`Optional[torch.device]`, `Union[torch.device, str]`"""
    return [
        typing.get_args(Optional[torch.device])[0] is torch.device,
        torch.device in typing.get_args(Union[torch.device, str, int]),
    ]


def annotations_with_a_bar() -> Any:
    """`torch.device | None`, `isinstance(d, torch.device | int)`"""
    return [
        typing.get_args(torch.device | None)[0] is torch.device,
        isinstance(torch.device("cuda"), torch.device | int),
    ]


def type_hints() -> Any:
    """`typing.get_type_hints` of a function that takes devices"""

    def function(device: torch.device, other: Optional[torch.device] = None) -> torch.Tensor:
        return torch.zeros(1)

    hints = typing.get_type_hints(function, {"torch": torch, "Optional": Optional})
    return [hints["device"] is torch.device, hints["other"] == Optional[torch.device]]


def single_dispatch() -> Any:
    """`functools.singledispatch` on `torch.device`"""

    @functools.singledispatch
    def kind(value: Any) -> str:
        return "something"

    @kind.register(torch.device)
    def _(value: Any) -> str:
        return "device"

    return [kind(torch.device("cuda")), kind("cuda")]


def abstract_classes() -> Any:
    """`torch.device` registered with an abstract base class"""

    class Place(abc.ABC):
        pass

    Place.register(torch.device)
    return isinstance(torch.device("cuda"), Place)


def caches() -> Any:
    """`functools.lru_cache` keyed by devices"""
    calls = []

    @functools.lru_cache
    def place(device: torch.device) -> str:
        calls.append(device)
        return str(device)

    place(torch.device("cuda:0"))
    place(torch.zeros(1, device="cuda").device)
    return len(calls)


@dataclasses.dataclass(frozen=True)
class _Place:
    device: torch.device = torch.device("cuda:1")
    name: str = "place"


class _Pair(NamedTuple):
    device: torch.device
    index: int


class _Places(enum.Enum):
    FIRST = torch.device("cuda:0")
    SECOND = torch.device("cuda:1")


def dataclasses_with_devices() -> Any:
    """data classes with devices: default, `asdict`, `replace`, hash"""
    place = _Place()
    moved = dataclasses.replace(place, device=torch.device("cuda:0"))
    return [dataclasses.asdict(place), hash(place) == hash(_Place()), str(moved.device), place == moved]


def named_tuples_and_enums() -> Any:
    """named tuples and enums of devices"""
    pair = _Pair(torch.device("cuda"), 0)
    return [pair._asdict(), _Places(torch.zeros(1, device="cuda:1").device).name, _Places.FIRST.value]


def copies() -> Any:
    """`copy.copy` and `deepcopy` of a device"""
    device = torch.device("cuda:1")
    memo: dict[int, Any] = {}
    copied = copy.deepcopy({"device": [device, device]}, memo)["device"]
    return [copy.copy(device) == device, copied == [device, device], type(copied[0]) is torch.device]


def weak_references() -> Any:
    """`weakref.ref` of a tensor on the device, of `torch.zeros` and `torch.device`"""
    x = torch.zeros(1, device="cuda")
    references = [weakref.ref(thing) for thing in (x, torch.zeros, torch.device)]
    held = [reference() is not None for reference in references]
    del x
    return [held, references[0]() is None]


def signatures() -> Any:
    """`inspect.signature` of what Python implements (`torch.load`, `torch.autocast`, `fork_rng`, ...)"""
    functions = torch.load, torch.autocast, torch.set_default_device, torch.random.fork_rng, torch.nn.Module.to
    return [str(inspect.signature(function)) for function in functions]


def signatures_of_c_functions() -> Any:
    """`inspect.signature(torch.zeros)` raises ValueError, as of every C function"""
    try:
        return str(inspect.signature(torch.zeros))
    except ValueError:
        return "ValueError"


def names_of_functions() -> Any:
    """`__name__`, `__module__` and the documentation of functions that take a device"""
    functions = torch.zeros, torch.empty, torch.arange, torch.tensor, torch.Tensor.new_zeros, torch.load, torch.autocast
    return [[f.__name__, bool(f.__doc__), getattr(f, "__module__", None) or "torch"] for f in functions]


def errors_of_bad_devices() -> Any:
    """errors of bad devices are torch's, in the user's words"""
    answers = []
    for device in ("cuda:x", "cuda:-2", "cudas", "cuda:01", [], 1.5):
        for make in (torch.device, lambda device: torch.zeros(1, device=device), torch.zeros(1).to):
            try:
                answers.append(str(make(device)))
            except Exception as error:
                answers.append(f"{type(error).__name__}: {str(error).splitlines()[0]}"[:36].replace("cuda", "x"))
    return answers
