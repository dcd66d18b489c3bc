"""The patches in force, by what they replace: a function that is found in several places counts once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torchada.hooks.registry import REGISTRY
from torchada.redirect.engine import ENGINE, Applied
from torchada.redirect.owners import MISSING, Members


@dataclass
class Group:
    """`names` are the places, the most public one first; `records` what the engine knows of each."""

    names: list[str]
    records: list[Applied]

    @property
    def name(self) -> str:
        return self.names[0]


def groups(records: Iterable[Applied] | None = None) -> list[Group]:
    """All groups, or those of `records`. Patches with the same original or the same replacement form one group."""
    found: dict[int, Group] = {}
    for record in ENGINE_RECORDS() if records is None else records:
        things = [
            id(thing) for thing in (_bare(record.before), _bare(record.patch.replacement)) if _has_identity(thing)
        ]
        merged = Group([place(record)], [record])
        for group in {id(found[key]): found[key] for key in things if key in found}.values():
            merged = Group(group.names + merged.names, group.records + merged.records)
        keys = [
            id(t) for r in merged.records for t in (_bare(r.before), _bare(r.patch.replacement)) if _has_identity(t)
        ]
        found.update(dict.fromkeys(keys or [id(record)], merged))
    unique = list({id(group): group for group in found.values()}.values())
    return [Group(sorted(dict.fromkeys(group.names), key=_publicity), group.records) for group in unique]


def ENGINE_RECORDS() -> list[Applied]:
    return [record for done in ENGINE.applied().values() for record in done]


def import_everything() -> list[str]:
    """Import every module that an area waits for. The names of areas that did not concern this torch."""
    from importlib import import_module

    for module in REGISTRY.modules():
        try:
            import_module(module)
        except ImportError:
            pass  # this torch has no such module
    known = [area for module in REGISTRY.modules() for area in REGISTRY.areas_of(module)]
    return [area.name for area in known if area.outcome != "applied"]


def place(record: Applied) -> str:
    """A patch by the place that it changes: "torch.Tensor.cuda"."""
    owner, name = record.patch.owner, record.patch.name
    if isinstance(owner, Members):
        owner, name = owner.holder, owner.attribute
    if isinstance(owner, ModuleType):
        return f"{owner.__name__}.{name}"
    if isinstance(owner, type):
        return f"{owner.__module__}.{owner.__qualname__}.{name}"
    if hasattr(owner, "target"):  # a slot of a type written in C
        return f"{owner.target.__module__}.{owner.target.__qualname__}.{name}"
    if isinstance(owner, dict):
        return f"{record.patch.text} [{getattr(name, '__name__', name)}]"
    return f"{record.patch.text} ({name})"


def _bare(value: Any) -> Any:
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def _has_identity(value: Any) -> bool:
    """Whether identity tells objects apart: two patches may have equal numbers, None or lists without belonging together."""
    return value is not MISSING and (callable(value) or isinstance(value, (property, ModuleType)))


def _publicity(name: str) -> tuple[bool, int, str]:
    return "._" in name, len(name.split(".")), name
