"""Words that mean CUDA's in some places only: `cuda` as a namespace, `CUDA` as a dispatch key, is_cuda() and cuda() of a tensor."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from torchada.porting.macros import device_macros
from torchada.porting.rules.dispatch import DISPATCH_KEYS
from torchada.porting.rules.namespaces import HOLDERS, MEMBERS
from torchada.porting.versions import ARCH_MACRO, REACHED, VERSION_MACROS, guard

DEVICE_KEY = "PrivateUse1"
DLPACK_TYPE = b"kDLExtDev"
NAMESPACES = {"cuda": "musa", "cute": "mute"}
# How many bytes before a word or string may say what it means.
FURTHEST = 240
_SPACE = re.compile(rb"(?:\s+|/\*[^*]{0,200}\*/|//[^\n]{0,200}\n){0,8}")
_COMMENTS = re.compile(rb'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/|//[^\n]*\n', re.S)
_DISPATCH = re.compile(rb"(?<!\w)(?:DispatchKey|DeviceType|Backend)\s*::\s*\Z")
_IMPLEMENTS = re.compile(rb"(?<!\w)(?:STABLE_)?TORCH_LIBRARY_IMPL\w*\s*\(")
_QUALIFIER = re.compile(rb"([A-Za-z0-9_]+)(\s*)::\Z")
_HOLDER_OPENED = re.compile(rb"(?<!\w)namespace\s+(?:%b)(?!\w)(?!\s*=)" % b"|".join(HOLDERS))
_NAMESPACE = re.compile(rb"(?:(?<!\w)namespace|::)\Z")
_TYPE_OF = re.compile(rb"(?:\.|->)\s*type\s*\(\s*\)\s*\.\s*\Z")
_POINTED = (b".", b"->")
_BLANKS = (b" ", b"\n", b"\t", b"\r", b"\v", b"\f", b"/")
_CALLED = re.compile(rb"([A-Za-z_0-9]{1,200})\s*\Z")
_OPENING, _CLOSING = b"()"
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
    device_macros: frozenset[str] = frozenset()

    @property
    def before(self) -> bytes:
        return self.text[max(self.floor, self.start - FURTHEST) : self.start]

    @property
    def joined(self) -> bytes:
        """What stands before the word, without comments, and without the blanks between."""
        return without_comments(self.before).rstrip()

    def follows(self, *what: bytes) -> bool:
        at = self.end
        if self.text[at : at + 1] in _BLANKS and (after := _SPACE.match(self.text, at)) is not None:
            at = after.end()
        return self.text.startswith(what, at)


def without_comments(before: bytes) -> bytes:
    """`before` with a blank for each comment. A comment that began further up counts as code."""
    if b"*/" not in before and b"//" not in before:
        return before
    return _COMMENTS.sub(lambda found: found[0] if found[0].startswith(b'"') else b" ", before)


def statement(before: bytes, ends: bytes = b";{}") -> bytes:
    """What of `before` belongs to the statement that it ends in."""
    return before[max(map(before.rfind, (ends[at : at + 1] for at in range(len(ends))))) + 1 :]


@lru_cache(maxsize=4)
def _has(pattern: re.Pattern[bytes], text: bytes) -> bool:
    """Whether `pattern` is anywhere in the source; looked for once, however many places ask."""
    return pattern.search(text) is not None


def _namespace(word: str, place: Place) -> Change | None:
    """`cuda::`, `namespace cuda`, `at::cuda`, and `cuda##x`, which makes a name of the runtime."""
    is_pasted, is_qualifier = place.follows(b"##"), place.follows(b"::")
    before = place.joined
    is_declared = before.endswith((b"::", b"namespace")) and _NAMESPACE.search(before) is not None
    if is_pasted or ((is_qualifier or is_declared) and (word != "cuda" or _is_cudas(place, before, is_qualifier))):
        return Change(place.start, place.end, NAMESPACES[word].encode())
    return _moved(place) if word == "cuda" else None


def _is_cudas(place: Place, before: bytes, is_qualifier: bool) -> bool:
    """Whether this `cuda` is PyTorch's, Thrust's or libcu++'s: projects have namespaces of that name too, which stay."""
    qualifier = _QUALIFIER.search(before) if before.endswith(b"::") else None
    # A blank in between is mostly that of `typename ::cuda::std` and the like, which begins at the global namespace.
    if qualifier is not None and (qualifier[1] in HOLDERS or not qualifier[2]):
        return qualifier[1] in HOLDERS
    if _has(_HOLDER_OPENED, place.text) or (before.endswith(b"namespace") and place.follows(b"=")):
        return True
    return is_qualifier and MEMBERS.match(place.text, place.end) is not None


def _moved(place: Place) -> Change | None:
    """tensor.cuda(): C++ has no musa() of tensors, so `to` says it."""
    call = _TENSOR_MOVED.match(place.text, place.end) if place.joined.endswith(_POINTED) else None
    if call is None or not _has(_TORCH, place.text):
        return None
    return Change(place.start, call.end(), b"to(at::k%b)" % DEVICE_KEY.encode())


def _is_implemented(before: bytes) -> bool:
    """Whether this is an argument of TORCH_LIBRARY_IMPL. The plain question is the quick one, and the answer mostly no."""
    return b"TORCH_LIBRARY_IMPL" in before and _IMPLEMENTS.search(statement(before)) is not None


def _called(before: bytes) -> str:
    """What the innermost call is of that `before` ends in."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += (before[at] == _CLOSING) - (before[at] == _OPENING)
        if depth < 0:
            name = _CALLED.search(before[:at])
            return "" if name is None else name[1].decode()
    return ""


_ARGUMENT = {
    word: f"{word} as an argument: where a macro makes a device type or a dispatch key of it, it must be {key}"
    for word, key in DISPATCH_KEYS.items()
}


def _dispatch_key(word: str, place: Place) -> Change | None:
    before = place.joined
    last = before[-1:]
    if (last == b":" and _DISPATCH.search(before)) or (last == b"," and _is_implemented(before)):
        return Change(place.start, place.end, DISPATCH_KEYS[word].encode())
    if last in (b"(", b",") and place.follows(b",", b")"):
        if _called(before) in place.device_macros | device_macros(place.text):
            return Change(place.start, place.end, DISPATCH_KEYS[word].encode())
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
