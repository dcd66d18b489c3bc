"""Checks that every patch in force has a program that uses it, or a reason for none, and that the programs notice faults."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import wrapt

from support.compiled.applied import Group, groups
from support.compiled.outside import OUTSIDE
from support.compiled.program import Program
from support.compiled.report import matches
from support.compiled.run import Runner
from torchada.hooks.state import STATE
from torchada.redirect.entry_point import EntryPoint


def accounts(programs: Iterable[Program], seen: dict[str, Any]) -> dict[str, Any]:
    """Patches without a program, programs that do not use what they cover, and entries that match no patch."""
    found = groups()
    by_place = {place: program for program in programs for place in program.covers}
    unused = []
    for group in found:
        covering = {program.name for program in _covering(group, by_place)}
        used = [seen[name]["used"] for name in covering if name in seen]
        if used and not any(uses(group, ids) for ids in used):
            unused.append(group.name)
    reasons = {group.name: _reason(group) for group in found if not _covering(group, by_place)}
    outside = {name: pattern for name, pattern in reasons.items() if pattern is not None}
    places = {name for group in found for name in group.names}
    stale = [
        program.name
        for program in programs
        if not places.intersection(program.covers) and any(map(_is_there, program.covers))
    ]
    return {
        "groups": {group.name: group.names for group in found},
        "left": left_over(found, by_place),
        "mechanism": "native" if STATE.context and STATE.context.mechanism.native else "portable",
        "unused": unused,
        "outside": outside,
        "stale": stale,
        "stale_outside": [pattern for pattern in OUTSIDE if pattern not in outside.values()],
    }


def _is_there(place: str) -> bool:
    """Whether the torch at hand has what the dotted name says. Programs are for all its versions together."""
    try:
        pkgutil.resolve_name(place)
    except (ImportError, AttributeError, ValueError):
        return False
    return True


def left_over(found: Iterable[Group], by_place: dict[str, Program]) -> list[str]:
    """The patches with neither a program nor a reason."""
    return [group.name for group in found if not _covering(group, by_place) and _reason(group) is None]


def _covering(group: Group, by_place: dict[str, Program]) -> list[Program]:
    return [by_place[name] for name in group.names if name in by_place]


def _reason(group: Group) -> str | None:
    return next(filter(None, (matches(name, OUTSIDE) for name in group.names)), None)


def uses(group: Group, ids: set[int]) -> bool:
    """Whether what was called (`ids`) includes the replacement, as far as Python shows calls of its kind."""
    visible = [each for record in group.records for each in _visible(record.patch.replacement)]
    return not visible or any(each in ids for each in visible)


def _visible(replacement: Any) -> Iterator[int]:
    if isinstance(replacement, (staticmethod, classmethod)):
        replacement = replacement.__func__
    if isinstance(replacement, EntryPoint):
        replacement = replacement._torchdynamo_inline
    if isinstance(replacement, property):
        replacement = replacement.fget
    if isinstance(replacement, FunctionType):
        yield id(replacement.__code__)


def mutants(runner: Runner, programs: Iterable[Program], chosen: frozenset[str]) -> dict[str, Any]:
    """Outcomes of compiled code where a patch is an ordinary wrapt proxy around the original, which does what the patch does."""
    of_place = {name: group for group in groups() for name in group.names}
    found = {}
    for program in programs:
        group = next((of_place[place] for place in program.covers if place in of_place), None)
        if program.name in chosen and group is not None and _is_replaced_function(group):
            with _naively_proxied(group):
                import torch

                torch._dynamo.reset()
                found[program.name] = runner.compiled(program)
    return found


def _is_replaced_function(group: Group) -> bool:
    return all(isinstance(r.before, FunctionType) and callable(r.patch.replacement) for r in group.records)


@contextmanager
def _naively_proxied(group: Group) -> Iterator[None]:
    for record in group.records:
        record.owner.set(record.patch.name, wrapt.FunctionWrapper(record.before, _instead(record.patch.replacement)))
    try:
        yield
    finally:
        for record in group.records:
            record.owner.set(record.patch.name, record.patch.replacement)


def _instead(replacement: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        return replacement(*args, **kwargs) if instance is None else replacement(instance, *args, **kwargs)

    return wrapper
