"""Guards that compare architectures and versions: the number is as much a name of CUDA's as the macro is.

**Architectures.** `__MUSA_ARCH__` is 100, 210, 220, 310, 320. What CUDA had from sm_75 on, MUSA has from 210 on; sm_80 (bfloat16,
asynchronous copies) is 220 and sm_89 (fp8) 310. No MUSA architecture has what came with sm_90 and later (TMA, wgmma, clusters), so
these thresholds stay what they are: out of reach. A comparison keeps its operator, and is true on an architecture exactly when the
original is true on the one that it stands for.

**Versions.** MUSA's own count is larger than any of CUDA's (MUSA_VERSION is 40300 in 4.3), so the numbers that MUSA has reached
stay, and a million is added to the others. CUDA 11.8 counts as reached: MUSA has the names of 11.7, and 11.8's types for fp8.
A function that returns the version says so as well: what reads it compares it with torch.version.cuda.

**The compiler's version.** mcc is not known to have one that counts so, and what is not defined is 0: kernels whose bodies ask
for nvcc 11 would be compiled empty. Where the number is used, it is that of the same CUDA; whether there is one stays a question.

**Versions of libraries.** muBLAS and its like count their own, which no number of CUDA's is meant for: a source that asks whether
cuBLAS is that of 11.6 would take its way for the oldest. Where the number is used, it is that of the library in CUDA 11.8.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

ARCHITECTURES = ((100, 700), (210, 750), (220, 800), (310, 890))
"""MUSA's architectures and the ones of CUDA that they stand for in guards."""
REACHED = 11080
"""The newest CUDA_VERSION that MUSA counts as."""
OUT_OF_REACH = 1_000_000
ARCH_MACRO = {"__CUDA_ARCH__": "__MUSA_ARCH__"}
COMPILER_MACROS = {"__CUDACC_VER_MAJOR__": "__MUSACC_VER_MAJOR__", "__CUDACC_VER_MINOR__": "__MUSACC_VER_MINOR__"}
LIBRARY_VERSIONS = {
    "BLAS": (11, 11, 3),
    "SPARSE": (11, 7, 5),
    "SOLVER": (11, 4, 1),
    "FFT": (10, 9, 0),
    "RAND": (10, 3, 0),
}
"""The libraries of CUDA 11.8, by the ends of their names. cuBLAS has one more digit for its first number in CUBLAS_VERSION."""
VERSION_MACROS = {"CUDA_VERSION": "MUSA_VERSION", "CUDART_VERSION": "MUSART_VERSION"}

# Two of these never stand side by side: the ways to share out what lies between would be as many as the square of its length.
_SPACE = rb"(?:[ \t]|\\\r?\n){0,200}"
_NUMBER = rb"([0-9]{1,18})(?![\w.'])"
_CLOSED = _SPACE + rb"(?:(\))" + _SPACE + rb")?"
_OPENED = _SPACE + rb"(?:\(" + _SPACE + rb")?\Z"
_RIGHT = re.compile(_CLOSED + rb"(>=|<=|==|!=|>(?!>)|<(?!<))" + _SPACE + _NUMBER)
_LEFT = re.compile(rb"(?<![\w.'])([0-9]{1,18})" + _SPACE + rb"(>=|<=|==|!=|(?<!>)>|(?<!<)<)" + _OPENED)
_OTHER_USE = re.compile(_CLOSED + rb"(?:[<>=!]=|[<>*/%+-])")
_OTHER_USE_LEFT = re.compile(rb"(?:[<>=!]=|[<>*/%+=-])" + _OPENED)
_RETURNED = re.compile(rb"(?<!\w)return" + _SPACE + rb"\Z")
_ENDED = re.compile(_SPACE + rb";")
_IS_DEFINED = re.compile(
    rb"(?:(?<!\w)defined%b(?:\(%b)?" % (_SPACE, _SPACE)
    + rb"|#[ \t]{0,80}(?:ifn?def|elifn?def|define|undef)[ \t]{1,80})\Z"
)
_MIRRORED = {b">=": b"<=", b"<=": b">=", b">": b"<", b"<": b">", b"==": b"==", b"!=": b"!="}
_FURTHEST = 96


class Guard(NamedTuple):
    """What replaces `text[start:end]`, and why somebody should look at it."""

    start: int
    end: int
    new: bytes
    reason: str | None


def architecture(number: int, operator: str, steps: Sequence[tuple[int, int]] = ARCHITECTURES) -> int:
    """The number to compare __MUSA_ARCH__ with where __CUDA_ARCH__ was compared with `number`.

    `operator` is one of >= < > <= == !=. Numbers that no architecture reaches come back as they are.
    """
    if operator in (">=", "<"):
        return next((musa for musa, cuda in steps if cuda >= number), number)
    if operator in (">", "<="):
        return next((musa - 1 for musa, cuda in steps if cuda > number), number)
    return next((musa for musa, cuda in steps if cuda == number), number)


def version(number: int, operator: str, reached: int = REACHED) -> int:
    """The number to compare MUSA_VERSION with where CUDA_VERSION was compared with `number`."""
    is_reached = number < reached or (number == reached and operator not in (">", "<="))
    return number if is_reached or number >= OUT_OF_REACH else number + OUT_OF_REACH


def guard(text: bytes, start: int, end: int, macro: str, reached: int = REACHED) -> Guard:
    """The counterpart of the macro at `text[start:end]` with the number that it is compared with, if there is one."""
    is_architecture = macro in ARCH_MACRO
    new = (ARCH_MACRO.get(macro) or VERSION_MACROS[macro]).encode()
    right = _RIGHT.match(text, end)
    if right is not None and not (right[1] and not _opened(text, start)):
        number, operator = int(right[3]), right[2].decode()
        counterpart = architecture(number, operator) if is_architecture else version(number, operator, reached)
        reason = _exactness(operator, number) if is_architecture else None
        return Guard(start, right.end(), new + text[end : right.start(3)] + b"%d" % counterpart, reason)
    before = text[max(0, start - _FURTHEST) : start]
    left = _LEFT.search(before)
    if left is not None:
        number, operator = int(left[1]), _MIRRORED[left[2]].decode()
        counterpart = architecture(number, operator) if is_architecture else version(number, operator, reached)
        reason = _exactness(operator, number) if is_architecture else None
        first = start - len(before) + left.start()
        return Guard(first, end, b"%d" % counterpart + before[left.end(1) :] + new, reason)
    if not is_architecture and _RETURNED.search(before) and _ENDED.match(text, end):
        return Guard(start, end, b"%d" % reached, None)
    is_used = _OTHER_USE.match(text, end) or _OTHER_USE_LEFT.search(before)
    return Guard(
        start,
        end,
        new,
        f"{new.decode()} counts otherwise than {macro}; look at what is done with it" if is_used else None,
    )


def compiler_version(text: bytes, start: int, end: int, macro: str, reached: int = REACHED) -> Guard:
    """The number of nvcc's version in the place of the macro at `text[start:end]`, unless the question is whether it is defined."""
    if _IS_DEFINED.search(text[max(0, start - _FURTHEST) : start]):
        return Guard(
            start, end, COMPILER_MACROS[macro].encode(), "mcc is not known to have a version that counts as nvcc's"
        )
    major, rest = divmod(reached, 1000)
    return Guard(start, end, b"%d" % (major if "MAJOR" in macro else rest // 10), None)


def _library_macros() -> dict[str, int]:
    """The macros that say which version CUDA's libraries have, with their values."""
    found: dict[str, int] = {}
    for name, (major, minor, patch) in LIBRARY_VERSIONS.items():
        parts = {"VER_MAJOR": major, "VER_MINOR": minor, "VER_PATCH": patch}
        whole = major * (10_000 if name == "BLAS" else 1_000) + minor * 100 + patch
        found.update({f"CU{name}_{part}": number for part, number in {**parts, "VERSION": whole}.items()})
    return found


LIBRARY_MACROS = _library_macros()


def library_version(text: bytes, start: int, end: int, macro: str, reached: int = REACHED) -> Guard:
    """The number of the library's version in the place of the macro; its name, where the question is whether it is defined.

    The name stays for another CUDA than 11.8, too, whose libraries are not in the table.
    """
    if reached != REACHED or _IS_DEFINED.search(text[max(0, start - _FURTHEST) : start]):
        reason = "MUSA's library counts its versions otherwise; look at what is compared"
        return Guard(start, end, macro.replace("CU", "MU", 1).encode(), reason)
    return Guard(start, end, b"%d" % LIBRARY_MACROS[macro], None)


def _opened(text: bytes, start: int) -> bool:
    return text[max(0, start - _FURTHEST) : start].rstrip(b" \t").endswith(b"(")


def _exactness(operator: str, number: int) -> str | None:
    if operator not in ("==", "!="):
        return None
    return f"one architecture ({number}) has no exact counterpart; look at what is meant"
