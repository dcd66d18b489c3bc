"""Compare the results of CUDA programs with those of native ones, and describe the differences."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from support.compiled.outcome import as_cuda, types_only
from support.compiled.program import Program


def differences(
    program: Program,
    cuda: dict[str, Any],
    native: dict[str, Any] | None,
    *,
    older: bool = False,
    rounded: bool = False,
) -> Iterator[str]:
    """The faults in `cuda` and `native`, entries of two reports.

    `older`: this torch.compile supports less than the programs expect; it may refuse, or treat both programs in the same way.
    `rounded`: compiled code computes in another order, so numbers may differ in their last digits.
    """
    same = _same_types if program.volatile else _same_but_for_rounding if rounded else _same
    wrong = native is not None and not same(native["eager"], native["compiled"])
    differs = bool(program.differs) or (older and (wrong or _refused(cuda)))
    if not same(cuda["eager"], cuda["compiled"]) and not differs:
        yield f"eager {cuda['eager']}, but compiled {cuda['compiled']} ({cuda['why']})"
    if native is None:
        return
    if differs and not (same(cuda["eager"], cuda["compiled"]) or same(cuda["compiled"], native["compiled"])):
        yield f"compiled {cuda['compiled']}, native code compiled {native['compiled']}"
    if native["full"] and not cuda["full"]:
        yield f"native code is one graph, CUDA's is not: {cuda['why']}"
    if not same(cuda["eager"], native["eager"]):
        yield f"eager {cuda['eager']}, but native {native['eager']}"


def _refused(seen: dict[str, Any]) -> bool:
    """Whether torch.compile itself failed, which is never the answer of a program."""
    kind, *rest = seen["compiled"]
    return bool(kind == "raised" and rest[0] in ("InternalTorchDynamoError", "BackendCompilerFailed"))


def _same(one: Any, other: Any) -> bool:
    return bool(as_cuda(one) == as_cuda(other))


def _same_but_for_rounding(one: Any, other: Any) -> bool:
    return _close(as_cuda(one), as_cuda(other))


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-6)
    if one != other and isinstance(one, str) and isinstance(other, str):
        return "." in one and _close(*map(_numbers, (one, other)))
    return bool(one == other)


def _numbers(text: str) -> Any:
    """The numbers of a tensor, which an outcome holds as text; not a number for other text, which equals nothing."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return math.nan
    return found if isinstance(found, (float, list)) else math.nan


def _same_types(one: Any, other: Any) -> bool:
    return _same(types_only(one), types_only(other))
