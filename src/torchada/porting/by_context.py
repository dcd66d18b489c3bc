"""Words that mean CUDA's in some places only: `cuda` as a namespace, `CUDA` as a dispatch key, is_cuda() and cuda() of a tensor."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from torchada.porting.dpx import FUNCTIONS as DPX
from torchada.porting.rules.dispatch import AUTOCAST_ARGUMENTS, AUTOCAST_OF_CUDA, AUTOCAST_WORDS, DISPATCH_NAMES
from torchada.porting.rules.namespaces import HOLDERS, MEMBERS
from torchada.porting.rules.runtime import DEPENDENCIES, HOPPER
from torchada.porting.rules.torch import ASKED_OF_CUDA, CALLED_WITH_ARGUMENTS, HAS_CUDA, OF_DEVICES
from torchada.porting.source import Position, ending_word, statement
from torchada.porting.versions import (
    ARCH_MACRO,
    COMPILER_MACROS,
    LIBRARY_MACROS,
    VERSION_MACROS,
    compiler_version,
    guard,
    library_version,
)

DEVICE_KEY = "PrivateUse1"
DLPACK_TYPE = b"kDLExtDev"
NAMESPACES = {"cuda": "musa", "cute": "mute"}
_OF_TORCH = re.compile(rb"(?<![\w:])(?:::\s*)?torch\s*::\s*\Z")
_ASKED = re.compile(
    rb"\s*::\s*(is_available|device_count|synchronize|manual_seed(?:_all)?|cudnn_is_available)(?!\w)(\s*\(\s*\))?"
)
_OF_CONTEXT = re.compile(
    rb"(?<![\w:])(?:(?:::\s*)?at\s*::\s*)?globalContext\s*\(\s*\)\s*\.\s*\Z|(?<![\w:])(?:::\s*)?at\s*::\s*\Z"
)
_COMPONENT = re.compile(rb"(?<!\w)BackendComponent\s*::\s*\Z")
_OPENED_BRACKET = re.compile(rb"\s*\(")
_NOTHING_GIVEN = re.compile(rb"\s*\(\s*\)")
_NO_COUNTERPART = "torch_musa has no function of this name"
_FALSE_HERE = "PyTorch's own, which is false on MUSA; at::hasCUDA() is translated"
_NVCCS = "mcc is clang and does not define it; this source asks for nvcc's version as well, so it takes its way for other compilers"
_DISPATCH = re.compile(rb"(?<!\w)(?:DispatchKey|DeviceType|Backend)\s*::\s*\Z")
_IMPLEMENTS = re.compile(rb"(?<!\w)(?:STABLE_)?TORCH_LIBRARY_IMPL\w*\s*\(")
_NAMESPACE = re.compile(rb"(?:(?<!\w)namespace|::)\Z")
_TYPE_OF = re.compile(rb"(?:\.|->)\s*type\s*\(\s*\)\s*\.\s*\Z")
_POINTED = (b".", b"->")
_POINTING = (b".", b">")
_MOST_CALLS = 5
_DECLARING = (b":", b"e")
_ARGUMENT_MARKS = re.compile(rb"[()\[\]{},;\"']")
_LONGEST_CALL = 1000
_OPENED = re.compile(rb"\([ \t]*")
_CALLED_BARE = re.compile(rb"[ \t]*\([ \t]*\)")
_TENSOR_MOVED = re.compile(rb"\s*\(\s*\)")


class Change(NamedTuple):
    """`new` replaces `text[start:end]`; with a `reason` it is reported, as unported where `new` is None."""

    start: int
    end: int
    new: bytes | None
    reason: str | None = None
    header: str | None = None  # that `new` needs


def _namespace(word: str, position: Position) -> Change | None:
    """`cuda::`, `namespace cuda`, `at::cuda`, and `cuda##x`, which makes a name of the runtime."""
    text, after, last = position.text, position.next, position.last
    is_pasted, is_qualifier = text.startswith(b"##", after), text.startswith(b"::", after)
    before = position.joined if is_qualifier or last in _DECLARING else b""
    is_declared = _NAMESPACE.search(before[-10:]) is not None
    if before.endswith(b"::") and is_qualifier and word == "cuda" and (asked := _asked_of_torch(position)) is not None:
        return asked
    if is_pasted or ((is_qualifier or is_declared) and (word != "cuda" or _is_cudas(position, before, is_qualifier))):
        return Change(position.start, position.end, NAMESPACES[word].encode())
    return _moved(position) if word == "cuda" and last in _POINTING else None


def _is_cudas(position: Position, before: bytes, is_qualifier: bool) -> bool:
    """Whether this `cuda` is PyTorch's, Thrust's or libcu++'s: projects have namespaces of that name too, which stay."""
    if before.endswith(b"::"):
        head = before[:-2].rstrip()
        qualifier = ending_word(head)
        # A blank in between is mostly that of `typename ::cuda::std` and the like, which begins at the global namespace.
        if qualifier in HOLDERS or (qualifier and len(head) == len(before) - 2):
            return qualifier in HOLDERS
    if position.source.opens_holder or (before.endswith(b"namespace") and position.follows(b"=")):
        return True
    return is_qualifier and MEMBERS.match(position.text, position.end) is not None


def _asked_of_torch(position: Position) -> Change | None:
    """torch::cuda::is_available() and its like: torch_musa has no torch::musa that answers."""
    asked, torch = _ASKED.match(position.text, position.end), _OF_TORCH.search(position.before)
    if asked is None or torch is None:
        return None
    start, name = position.start - len(position.before) + torch.start(), asked[1].decode()
    new, takes_brackets = ASKED_OF_CUDA.get(name, (None, True))
    if new is not None and (asked[2] is not None or not takes_brackets):
        return Change(start, asked.end() if takes_brackets else asked.end(1), new.encode(), header=OF_DEVICES)
    if name in CALLED_WITH_ARGUMENTS and _OPENED_BRACKET.match(position.text, asked.end(1)):
        new, header = CALLED_WITH_ARGUMENTS[name]
        return Change(start, asked.end(1), new.encode(), header=header)
    return Change(position.start, position.end, None, f"{_NO_COUNTERPART}: torch::cuda::{name}")


def _has_cuda(word: str, position: Position) -> Change | None:
    """at::hasCUDA() and globalContext().hasCUDA(): PyTorch's build for MUSA is none for CUDA."""
    called, whose = _NOTHING_GIVEN.match(position.text, position.end), _OF_CONTEXT.search(position.before)
    if called is None:
        return None
    if whose is None:
        return _asked_otherwise(word, position)
    start = position.start - len(position.before) + whose.start()
    return Change(start, called.end(), HAS_CUDA.encode(), header=OF_DEVICES)


def _asked_otherwise(word: str, position: Position) -> Change | None:
    """context.hasCUDA(), where the source has no function of that name itself."""
    is_pytorchs = position.last == b"." and position.source.names_torch and b"bool hasCUDA" not in position.text
    return Change(position.start, position.end, word.encode(), _FALSE_HERE) if is_pytorchs else None


def _backend_component(word: str, position: Position) -> Change | None:
    """BackendComponent::CUDABit, of a tensor's key set."""
    is_component = _COMPONENT.search(position.before) is not None
    return Change(position.start, position.end, f"{DEVICE_KEY}Bit".encode()) if is_component else None


def _dpx(word: str, position: Position) -> Change | None:
    """A call of one of CUDA 12's integer functions, where the source does not define them for older CUDA itself."""
    before = ending_word(position.joined)
    is_call = position.follows(b"(") and before in (b"", b"return", b"else", b"case", b"do")
    if not is_call or position.source.defines_dpx:
        return None
    return Change(position.start, position.end, DPX[word])


def _compiler(word: str, position: Position) -> Change | None:
    """__NVCC__: whoever asks for nvcc's version means nvcc, and mcc is clang; whoever does not means code for a GPU."""
    if position.source.asks_for_nvcc:
        return Change(position.start, position.end, word.encode(), _NVCCS)
    return Change(position.start, position.end, b"__MUSACC__")


def _moved(position: Position) -> Change | None:
    """tensor.cuda(): C++ has no musa() of tensors, so `to` says it."""
    call = _TENSOR_MOVED.match(position.text, position.end) if position.joined.endswith(_POINTED) else None
    if call is None or not position.source.names_torch:
        return None
    return Change(position.start, call.end(), b"to(at::k%b)" % DEVICE_KEY.encode())


def _is_implemented(position: Position) -> bool:
    """Whether this is an argument of TORCH_LIBRARY_IMPL. The plain questions are quick, and the answer mostly no."""
    if not position.source.implements or b"TORCH_LIBRARY_IMPL" not in (before := position.joined):
        return False
    return _IMPLEMENTS.search(statement(before)) is not None


def _called(before: bytes) -> str:
    """What the innermost call is of that `before` ends in; nothing where more calls end there than a macro's arguments have."""
    opened, closings = len(before), 0
    for _ in range(_MOST_CALLS):
        behind = opened
        opened = before.rfind(b"(", 0, behind)
        closings += before.count(b")", opened + 1, behind)
        if closings == 0 or opened < 0:
            return ending_word(before[: max(opened, 0)].rstrip()).decode()
        closings -= 1
    return ""


_ARGUMENT = {
    word: f"{word} as an argument: where a macro makes a device type or a dispatch key of it, it must be {key}"
    for word, key in DISPATCH_NAMES.items()
}


def _dispatch_key(word: str, position: Position) -> Change | None:
    last = position.last
    if (last == b":" and _DISPATCH.search(position.joined)) or (last == b"," and _is_implemented(position)):
        return Change(position.start, position.end, DISPATCH_NAMES[word].encode())
    if last in (b"(", b",") and position.follows(b",", b")"):
        macros = position.source.device_macros
        if macros and _called(position.joined) in macros:
            return Change(position.start, position.end, DISPATCH_NAMES[word].encode())
        return Change(position.start, position.end, word.encode(), _ARGUMENT[word])
    return None


def _arguments(text: bytes, start: int) -> tuple[int, int] | None:
    """How many arguments the call has that begins at `start`, and where its closing bracket is."""
    if not text.startswith(b"(", start):
        return None
    depth, commas = 0, 0
    for match in _ARGUMENT_MARKS.finditer(text, start, start + _LONGEST_CALL):
        mark = match[0]
        if mark in (b"(", b"[", b"{"):
            depth += 1
        elif mark in (b")", b"]", b"}"):
            depth -= 1
            if depth == 0:
                return commas + 1, match.start()
        elif mark != b",":
            return None
        elif depth == 1:
            commas += 1
    return None


def _autocast(word: str, position: Position) -> Change | None:
    """ATen's autocast::cached_cast(type, x) and is_enabled() mean CUDA, so they get the device that they take, last or first."""
    name = word.removeprefix("autocast::")
    if name in AUTOCAST_OF_CUDA:
        return _given_first(f"autocast::{AUTOCAST_OF_CUDA[name]}(at::k{DEVICE_KEY}", position)
    arguments, end = _arguments(position.text, position.next) or (0, 0)
    if arguments != AUTOCAST_ARGUMENTS[name]:
        return None
    call = position.text[position.start : end]
    if b"cuda" in call.lower():
        return Change(
            position.start, position.end, word.encode(), f"without a device, {word} looks at CUDA's tensors alone"
        )
    return Change(position.start, end, b"%b, at::k%b" % (call, DEVICE_KEY.encode()))


def _given_first(call: str, position: Position) -> Change | None:
    """A call's beginning with its first argument, before those that it has."""
    opened = _OPENED.match(position.text, position.next)
    if opened is None:
        return None
    return Change(
        position.start, opened.end(), call.encode() + (b"" if position.text.startswith(b")", opened.end()) else b", ")
    )


def _is_cuda(word: str, position: Position) -> Change | None:
    """Tensor::is_cuda and Device::is_cuda. What type() answers has no such question for MUSA, what device() answers has."""
    before = position.before
    if not position.joined.endswith((*_POINTED, b"::")) or position.source.declares_is_cuda:
        return None
    asked = _TYPE_OF.search(before) if b"type" in before else None
    if asked is not None:
        start = position.start - len(before) + asked.start()
        chained = before[asked.start() :].replace(b"type", b"device", 1)
        return Change(start, position.end, chained + b"is_privateuseone")
    return Change(position.start, position.end, b"is_privateuseone")


def _version(word: str, position: Position) -> Change | None:
    change = guard(position.text, position.start, position.end, word, position.source.reached)
    start = change.start
    if start < position.floor:
        return Change(
            position.start,
            position.end,
            change.new[-(position.end - position.start) :],
            "the number before it was not looked at",
        )
    return Change(start, change.end, change.new, change.reason)


def _compiler_version(word: str, position: Position) -> Change | None:
    change = compiler_version(position.text, position.start, position.end, word, position.source.reached)
    return Change(change.start, change.end, change.new, change.reason)


def _library_version(word: str, position: Position) -> Change:
    change = library_version(position.text, position.start, position.end, word, position.source.reached)
    return Change(change.start, change.end, change.new, change.reason)


def _dlpack_type(word: str, position: Position) -> Change | None:
    """DLPack's type of CUDA's devices, except where DLPack defines it: PyTorch exports this device's tensors as kDLExtDev."""
    is_defined = position.follows(b"=") and not position.follows(b"==")
    return None if is_defined else Change(position.start, position.end, DLPACK_TYPE)


def _dependency(word: str, position: Position) -> Change:
    """A kernel waits for the one before it, or lets the next one begin: on MUSA it begins after the one before it has ended."""
    call = _CALLED_BARE.match(position.text, position.end)
    if call is None or position.last == b":":
        return Change(position.start, position.end, None, HOPPER)
    return Change(position.start, call.end(), b"((void)0)")


CONTEXTS: dict[str, Callable[[str, Position], Change | None]] = {
    **dict.fromkeys(NAMESPACES, _namespace),
    **dict.fromkeys(DISPATCH_NAMES, _dispatch_key),
    **dict.fromkeys((*ARCH_MACRO, *VERSION_MACROS), _version),
    **dict.fromkeys(COMPILER_MACROS, _compiler_version),
    **dict.fromkeys(LIBRARY_MACROS, _library_version),
    **dict.fromkeys(AUTOCAST_WORDS, _autocast),
    **dict.fromkeys(DEPENDENCIES, _dependency),
    **dict.fromkeys(DPX, _dpx),
    "__NVCC__": _compiler,
    "CUDABit": _backend_component,
    "hasCUDA": _has_cuda,
    "is_cuda": _is_cuda,
    "kDLCUDA": _dlpack_type,
}
