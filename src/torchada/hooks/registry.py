"""Which area concerns which module.

The table is the sum of the wings' own (`torchada.areas`). Third parties add wings of the same shape through the entry-point group
`torchada.areas`; see docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

from torchada.base import plugins
from torchada.base.warnings import warn_once
from torchada.hooks.area import Area, is_named

PACKAGE = "torchada.areas"
GROUP = "torchada.areas"
# Modules in which the areas of another module have patches as well: these are applied again when such a module is reloaded.
PARTS = {"torch.cuda": "torch"}


class Registry:
    """The built-in wings, the chosen backend's own, and, once they are needed, those of entry points.

    Areas are the same objects each time; they know what came of them.
    """

    def __init__(self) -> None:
        self._of_the_backend: dict[str, ModuleType] = {}
        self._areas: dict[tuple[str, str], Area] = {}

    def bring(self, name: str, wing: str) -> None:
        """Add the wing of the chosen backend `name`: the module `wing`."""
        self._of_the_backend = {name: import_module(wing)}

    @property
    def replaced(self) -> frozenset[str]:
        """Names of areas, files and wings of ours that the chosen backend answers for itself."""
        return frozenset(name for wing in self._of_the_backend.values() for name in wing.REPLACES)

    @cached_property
    def built_in(self) -> dict[str, ModuleType]:
        """Our own wings by name."""
        return {name: import_module(f"{PACKAGE}.{name}") for name in import_module(PACKAGE).WINGS}

    @cached_property
    def added(self) -> dict[str, Any]:
        """The wings of entry points, by entry-point name; a faulty one is left out with a warning."""
        wings = {}
        for name, wing in plugins.entry_points(GROUP):
            fault = self._fault(name, wing)
            if fault:
                warn_once(f"entry point {name!r} of group {GROUP!r} is left out: {fault}")
            else:
                wings[name] = wing
        return wings

    def built_in_modules(self) -> list[str]:
        """The modules that our own areas concern, torch first."""
        wings = {**self.built_in, **self._of_the_backend}
        return list(dict.fromkeys(module for wing in wings.values() for module in wing.AREAS))

    def modules(self) -> list[str]:
        """The modules that some area concerns, torch first."""
        return list(dict.fromkeys([*self.built_in_modules(), *(m for wing in self.added.values() for m in wing.AREAS)]))

    def parts(self) -> list[str]:
        """Modules that are watched for their reload alone."""
        return list(PARTS)

    def home_of(self, module: str) -> str:
        """The module whose areas concern `module`: itself, or what it is a part of."""
        return PARTS.get(module, module)

    def areas_of(self, module: str) -> list[Area]:
        """The areas of one module, in the order of application."""
        wings = {**self.built_in, **self._of_the_backend, **self.added}
        return [
            self._area(f"{name}.{area}", module, wing)
            for name, wing in wings.items()
            for area in wing.AREAS.get(module, ())
        ]

    def _area(self, name: str, module: str, wing: Any) -> Area:
        return self._areas.setdefault((name, module), Area(name, module, wing))

    def names(self) -> set[str]:
        """Every name that TORCHADA_SKIP_AREAS may hold: a wing's, a file's or an area's. Loads nothing of third parties."""
        wings = {**self.built_in, **self._of_the_backend}
        tables = {name: wing.AREAS for name, wing in wings.items()}
        areas = {f"{name}.{area}" for name, table in tables.items() for names in table.values() for area in names}
        files = {area.rpartition(".")[0] for area in areas}
        return {*areas, *filter(None, files), *plugins.names(GROUP)}

    @cached_property
    def former(self) -> dict[str, str]:
        """What areas were called before, and what they are called now."""
        return dict(import_module(PACKAGE).FORMER_NAMES)

    def current(self, names: Iterable[str]) -> frozenset[str]:
        """`names`, with those that areas had before in their present form."""
        return frozenset(self.former.get(name, name) for name in names)

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that name no area. For a third party's wing, which this does not load, only the wing is checked."""
        known, added = self.names(), plugins.names(GROUP)
        return sorted(name for name in self.current(names) if name not in known and not is_named(name, added))

    def _fault(self, name: str, wing: Any) -> str | None:
        if name in self.built_in or name in self._of_the_backend:
            return "torchada has a wing of that name itself"
        table = getattr(wing, "AREAS", None)
        if isinstance(table, dict) and all(_is_entry(module, areas) for module, areas in table.items()):
            return None
        return f"AREAS is {table!r}; expected a dictionary from names of modules to tuples of names of areas"


def _is_entry(module: object, areas: object) -> bool:
    return isinstance(module, str) and isinstance(areas, (tuple, list)) and all(isinstance(area, str) for area in areas)


REGISTRY = Registry()
