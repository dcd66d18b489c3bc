"""Words that mean CUDA's in some places only: `cuda` as a namespace, `CUDA` as a dispatch key, is_cuda() and cuda() of a tensor."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from torchada.porting.rules.dispatch import DISPATCH_KEYS
from torchada.porting.versions import ARCH_MACRO, REACHED, VERSION_MACROS, guard

DEVICE_KEY = "PrivateUse1"
NAMESPACES = {"cuda": "musa", "cute": "mute"}
# How many bytes before a word or string may say what it means.
FURTHEST = 240
_SPACE = re.compile(rb"\s*")
_DISPATCH = re.compile(rb"(?<!\w)(?:DispatchKey|DeviceType|Backend)\s*::\s*\Z")
_IMPLEMENTS = re.compile(rb"(?<!\w)(?:STABLE_)?TORCH_LIBRARY_IMPL\w*\s*\([^;{}]*?,\s*\Z")
_ARGUMENT = re.compile(rb"[(,]\s*\Z")
_NAMESPACE = re.compile(rb"(?:(?<!\w)namespace\s+|::\s*)\Z")
_MEMBER = re.compile(rb"(?:\.|->|::)\s*\Z")
_TYPE_OF = re.compile(rb"(?:\.|->)\s*type\s*\(\s*\)\s*\.\s*\Z")
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

    def follows(self, what: bytes) -> bool:
        after = _SPACE.match(self.text, self.end)
        return self.text.startswith(what, after.end() if after else self.end)


def _namespace(word: str, place: Place) -> Change | None:
    """`cuda::`, `namespace cuda`, `at::cuda`, and `cuda##x`, which makes a name of the runtime."""
    if (
        place.text.startswith(b"::", place.end)
        or place.follows(b"##")
        or place.follows(b"::")
        or _NAMESPACE.search(place.before)
    ):
        return Change(place.start, place.end, NAMESPACES[word].encode())
    return _moved(place) if word == "cuda" else None


def _moved(place: Place) -> Change | None:
    """tensor.cuda(): C++ has no musa() of tensors, so `to` says it."""
    call = _TENSOR_MOVED.match(place.text, place.end)
    if call is None or not re.search(rb"(?:\.|->)\s*\Z", place.before):
        return None
    if not re.search(rb"(?<!\w)(?:torch|ATen|at)(?!\w)", place.text):
        return None
    return Change(place.start, call.end(), b"to(at::k%b)" % DEVICE_KEY.encode())


def _dispatch_key(word: str, place: Place) -> Change | None:
    before = place.before
    if _DISPATCH.search(before) or _IMPLEMENTS.search(before):
        return Change(place.start, place.end, DISPATCH_KEYS[word].encode())
    if _ARGUMENT.search(before) and (place.follows(b",") or place.follows(b")")):
        why = f"{word} as an argument: where a macro makes a device type or a dispatch key of it, it must be {DISPATCH_KEYS[word]}"
        return Change(place.start, place.end, word.encode(), why)
    return None


def _is_cuda(word: str, place: Place) -> Change | None:
    """Tensor::is_cuda and Device::is_cuda. What type() answers has no such question for MUSA, what device() answers has."""
    before = place.before
    if not _MEMBER.search(before) or _DECLARED.search(place.text):
        return None
    asked = _TYPE_OF.search(before)
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


CONTEXTS: dict[str, Callable[[str, Place], Change | None]] = {
    **dict.fromkeys(NAMESPACES, _namespace),
    **dict.fromkeys(DISPATCH_KEYS, _dispatch_key),
    **dict.fromkeys((*ARCH_MACRO, *VERSION_MACROS), _version),
    "is_cuda": _is_cuda,
}
