"""An area in force, or the reason why it is not: its patches are made once its module has arrived, and applied all or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torchada.base.ending import as_modules_go
from torchada.redirect.engine import ENGINE, Patch, Skip

if TYPE_CHECKING:
    from torchada.redirect.context import Context
    from torchada.telemetry.process import Telemetry

# The patches of areas by name, and for what context they were made.
_MADE: dict[str, tuple[Context, list[Patch]]] = {}
as_modules_go(_MADE.clear)  # as the engine's records


class Area:
    """What a wing changes in one module; `name` is "wing.area". The area's file is imported when it is applied, and not before.

    What came of the last attempt: `outcome` is "applied", "skipped" or "failed", `reason` says why unless it was applied, and
    `patches` counts them.
    """

    def __init__(self, name: str, module: str, wing: Any) -> None:
        self.name = name
        self.module = module
        self.outcome = "skipped"
        self.reason = ""
        self.patches = 0
        self._wing = wing

    def as_data(self) -> dict[str, Any]:
        """What status shows."""
        return {name: value for name, value in vars(self).items() if name != "_wing"}

    def apply(
        self, context: Context, skipped: Iterable[str], replaced: Iterable[str], telemetry: Telemetry | None
    ) -> Exception | None:
        """Apply the patches, unless the user (`skipped`) or the backend (`replaced`) does without. Returns the fault, if any."""
        self.outcome, self.patches = "skipped", 0
        self.reason = self._left_out(context, skipped, replaced)
        if self.reason:
            return None
        try:
            patches = self._patches(context, telemetry)
            ENGINE.apply(self.name, patches)
        except Skip as skip:
            self.reason = str(skip)
        except Exception as error:
            self.outcome, self.reason = "failed", f"{type(error).__name__}: {error}"
            return error
        else:
            self.outcome, self.patches = "applied", len(patches)
        return None

    def forget(self) -> None:
        """Put back what the patches displaced, and make new ones next time: the module has been imported anew."""
        ENGINE.revert(self.name)
        _MADE.pop(self.name, None)

    def _left_out(self, context: Context, skipped: Iterable[str], replaced: Iterable[str]) -> str:
        """Why the area is not even tried; empty where it is."""
        if is_named(self.name, skipped):
            return "named in TORCHADA_SKIP_AREAS"
        if is_named(self.name, replaced):
            return f"the platform {context.backend.name} answers for this itself"
        return ""

    def _patches(self, context: Context, telemetry: Telemetry | None) -> list[Patch]:
        """The same patches as last time if nothing has changed: torch.compile and torch's caches know functions by identity."""
        made_for, patches = _MADE.get(self.name, (None, []))
        if made_for != context or not ENGINE.fits_again(self.name):
            patches = list(self._function()(context))
            if telemetry is not None:
                patches = telemetry.observe(self.name, patches)
            _MADE[self.name] = context, patches
        return patches

    def _function(self) -> Callable[[Context], Iterable[Patch]]:
        """What yields the patches: a function of the wing or of a file of it, or `patches` in the file that has the area's name."""
        member = self._wing
        for part in self.name.split(".")[1:]:
            member = _member(member, part)
        function: Callable[[Context], Iterable[Patch]] = getattr(member, "patches", member)
        return function


def _member(owner: Any, name: str) -> Any:
    """An attribute, or the submodule of that name."""
    return getattr(owner, name) if hasattr(owner, name) else import_module(f"{owner.__name__}.{name}")


def is_named(area: str, names: Iterable[str]) -> bool:
    """Whether `names` contain the name of the area, of its file or of its wing."""
    return any(area == name or area.startswith(f"{name}.") for name in names)
