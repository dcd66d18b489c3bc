"""What a program has said by `torchada.set_view`, in force for the whole process and kept while redirection is off."""

from __future__ import annotations

# "cuda" or "musa" (the backend's view) by the name of a top-level package.
CHOSEN: dict[str, str] = {}
VIEWS = ("cuda", "musa")


def choose(package: str, view: str | None) -> None:
    """Give `package` a view, or leave the choice to torchada again (None). Raises ValueError for anything else."""
    if view is None:
        CHOSEN.pop(package, None)
        return
    if view not in VIEWS:
        raise ValueError(f"set_view({package!r}, {view!r}): expected 'cuda', 'musa' or None as the view")
    if not isinstance(package, str) or not package or "." in package:
        raise ValueError(f"set_view({package!r}, {view!r}): expected the name of a top-level package, such as 'kornia'")
    CHOSEN[package] = view
