"""`extra_compile_args` of an extension, with torch's keys and with those of the accelerator's own build tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchada.building.toolkit import Toolkit

_OF_TORCH = ("cxx", "nvcc", "nvcc_dlink", "sycl")


@dataclass
class CompileArgs:
    """Flags by compiler: `cxx` for C++, `nvcc` in nvcc's terms, `own` in those of the accelerator's compiler.

    `dlink` and `own_dlink` are the same two for linking device code, None where the extension does not ask for it.

    `is_list` where one list was given for all compilers. `is_forced` where the accelerator's compiler gets the C++ sources too.
    """

    cxx: list[str] = field(default_factory=list)
    nvcc: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    dlink: list[str] | None = None
    own_dlink: list[str] | None = None
    is_list: bool = False
    is_forced: bool = False
    unknown: list[str] = field(default_factory=list)


def parsed(given: Any, toolkit: Toolkit) -> CompileArgs:
    """`given` as setup.py files write it: None, one list for all compilers, or a dictionary of lists."""
    force = f"force_{toolkit.compiler}"
    if not isinstance(given, Mapping):
        flags = _flags(given)
        kept = [flag for flag in flags if flag != force]
        return CompileArgs(kept, list(kept), is_list=True, is_forced=force in flags)
    own, dlink = toolkit.compiler, f"{toolkit.compiler}_dlink"
    cxx = _flags(given.get("cxx"))
    return CompileArgs(
        cxx=[flag for flag in cxx if flag != force],
        nvcc=_flags(given.get("nvcc")),
        own=_flags(given.get(own)),
        dlink=_flags(given["nvcc_dlink"]) if "nvcc_dlink" in given else None,
        own_dlink=_flags(given[dlink]) if dlink in given else None,
        is_forced=force in cxx,
        unknown=[str(key) for key in given if key not in (*_OF_TORCH, own, dlink)],
    )


def unknown_notice(name: str, args: CompileArgs, toolkit: Toolkit) -> list[str]:
    """What to tell the user about keys that no compiler has, for the extension `name`."""
    known = ", ".join(repr(key) for key in (*_OF_TORCH, toolkit.compiler, f"{toolkit.compiler}_dlink"))
    return [
        f"extra_compile_args of {name} has the key {key!r}, which names no compiler; its flags are not used (known: {known})"
        for key in args.unknown
    ]


def _flags(value: Sequence[str] | None) -> list[str]:
    return [str(flag) for flag in value or ()]
