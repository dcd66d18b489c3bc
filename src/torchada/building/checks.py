"""What somebody should look at in ported sources, said at the end of a build, when it is not lost among a compiler's messages."""

from __future__ import annotations

import atexit
import os

from torchada.building.errors import say
from torchada.porting import CHECK, Tree

_MOST = 20
_places: dict[str, None] = {}


def remember(tree: Tree, root: str) -> None:
    """Keep what is to be said of the sources of `tree` that were ported this time; they lie below `root`."""
    if not _places:
        atexit.register(tell)
    for file, finding in tree.findings:
        if finding.kind == CHECK and file.is_new:
            place = f"{os.path.join(root, file.path)}:{finding.line}:{finding.column}"
            _places[f"{place}: look at {finding.name}: {finding.reason}"] = None


def tell() -> None:
    """Say what is kept, each thing once."""
    lines = list(_places)
    _places.clear()
    atexit.unregister(tell)
    more = len(lines) - _MOST
    say(lines[:_MOST] + ([f"and {more} more places to look at; `torchada port` lists all"] if more > 0 else []))
