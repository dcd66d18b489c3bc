"""Words that mean CUDA's in some places only: `cuda` as a namespace, `CUDA` as a dispatch key, is_cuda() and cuda() of a tensor."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from torchada.porting.rules.dispatch import DISPATCH_KEYS
from torchada.porting.versions import ARCH_MACRO, REACHED, VERSION_MACROS, guard

DEVICE_KEY = "PrivateUse1"
DLPACK_TYPE = b"kDLExtDev"
NAMESPACES = {"cuda": "musa", "cute": "mute"}
# How many bytes before a word or string may say what it means.
FURTHEST = 240
_SPACE = re.compile(rb"\s*")
_DISPATCH = re.compile(rb"(?<!\w)(?:DispatchKey|DeviceType|Backend)\s*::\s*\Z")
_IMPLEMENTS = re.compile(rb"(?<!\w)(?:STABLE_)?TORCH_LIBRARY_IMPL\w*\s*\(")
_NAMESPACE = re.compile(rb"(?:(?<!\w)namespace\s+|::\s*)\Z")
_TYPE_OF = re.compile(rb"(?:\.|->)\s*type\s*\(\s*\)\s*\.\s*\Z")
_POINTED = (b".", b"->")
_TORCH = re.compile(rb"(?<!\w)(?:torch|ATen|at)(?!\w)")
_TENSOR_MOVED = re.compile(rb"\s*\(\s*\)")
_DECLARED = re.compile(rb"(?<!\w)bool\s+is_cuda\s*\(")


class Change(NamedTuple):
    """`new` replaces `text[start:end]`; with a `reason` it is reported, as unported where `new` is None."""

    start: int
    end: int
    new: bytes | None
    reason: str | None = None


class Place(NamedTuple):
    """A word at `text[start:end]`; nothing before `floor` may be changed any more."""

    text: bytes
    start: int
    end: int
    floor: int
    reached: int = REACHED

    @property
    def before(self) -> bytes:
        return self.text[max(self.floor, self.start - FURTHEST) : self.start]

    @property
    def joined(self) -> bytes:
        """What stands before the word, without the blanks between."""
        return self.before.rstrip()

    def follows(self, *what: bytes) -> bool:
        at = self.end
        if self.text[at : at + 1].isspace() and (after := _SPACE.match(self.text, at)) is not None:
            at = after.end()
        return self.text.startswith(what, at)


def statement(before: bytes, ends: bytes = b";{}") -> bytes:
    """What of `before` belongs to the statement that it ends in."""
    return before[max(map(before.rfind, (ends[at : at + 1] for at in range(len(ends))))) + 1 :]


@lru_cache(maxsize=4)
def _has(pattern: re.Pattern[bytes], text: bytes) -> bool:
    """Whether `pattern` is anywhere in the source; looked for once, however many places ask."""
    return pattern.search(text) is not None


def _namespace(word: str, place: Place) -> Change | None:
    """`cuda::`, `namespace cuda`, `at::cuda`, and `cuda##x`, which makes a name of the runtime."""
    if place.follows(b"::", b"##") or (
        place.joined.endswith((b"::", b"namespace")) and _NAMESPACE.search(place.before)
    ):
        return Change(place.start, place.end, NAMESPACES[word].encode())
    return _moved(place) if word == "cuda" else None


def _moved(place: Place) -> Change | None:
    """tensor.cuda(): C++ has no musa() of tensors, so `to` says it."""
    call = _TENSOR_MOVED.match(place.text, place.end) if place.joined.endswith(_POINTED) else None
    if call is None or not _has(_TORCH, place.text):
        return None
    return Change(place.start, call.end(), b"to(at::k%b)" % DEVICE_KEY.encode())


def _is_implemented(before: bytes) -> bool:
    """Whether this is an argument of TORCH_LIBRARY_IMPL. The plain question is the quick one, and the answer mostly no."""
    return b"TORCH_LIBRARY_IMPL" in before and _IMPLEMENTS.search(statement(before)) is not None


_ARGUMENT = {
    word: f"{word} as an argument: where a macro makes a device type or a dispatch key of it, it must be {key}"
    for word, key in DISPATCH_KEYS.items()
}


def _dispatch_key(word: str, place: Place) -> Change | None:
    before = place.before
    last = before.rstrip()[-1:]
    if (last == b":" and _DISPATCH.search(before)) or (last == b"," and _is_implemented(before)):
        return Change(place.start, place.end, DISPATCH_KEYS[word].encode())
    if last in (b"(", b",") and place.follows(b",", b")"):
        return Change(place.start, place.end, word.encode(), _ARGUMENT[word])
    return None


def _is_cuda(word: str, place: Place) -> Change | None:
    """Tensor::is_cuda and Device::is_cuda. What type() answers has no such question for MUSA, what device() answers has."""
    before = place.before
    if not place.joined.endswith((*_POINTED, b"::")) or _has(_DECLARED, place.text):
        return None
    asked = _TYPE_OF.search(before) if b"type" in before else None
    if asked is not None:
        start = place.start - len(before) + asked.start()
        chained = before[asked.start() :].replace(b"type", b"device", 1)
        return Change(start, place.end, chained + b"is_privateuseone")
    return Change(place.start, place.end, b"is_privateuseone")


def _version(word: str, place: Place) -> Change | None:
    found = guard(place.text, place.start, place.end, word, place.reached)
    start = found.start
    if start < place.floor:
        return Change(
            place.start, place.end, found.new[-(place.end - place.start) :], "the number before it was not looked at"
        )
    return Change(start, found.end, found.new, found.reason)


def _dlpack_type(word: str, place: Place) -> Change | None:
    """DLPack's type of CUDA's devices, except where DLPack defines it: PyTorch exports this device's tensors as kDLExtDev."""
    is_defined = place.follows(b"=") and not place.follows(b"==")
    return None if is_defined else Change(place.start, place.end, DLPACK_TYPE)


CONTEXTS: dict[str, Callable[[str, Place], Change | None]] = {
    **dict.fromkeys(NAMESPACES, _namespace),
    **dict.fromkeys(DISPATCH_KEYS, _dispatch_key),
    **dict.fromkeys((*ARCH_MACRO, *VERSION_MACROS), _version),
    "is_cuda": _is_cuda,
    "kDLCUDA": _dlpack_type,
}
