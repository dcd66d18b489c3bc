"""How a place in a program is shown to users."""

from __future__ import annotations

import os


def shown(file: str, package: str, folder: str) -> str:
    """A file name short enough for a table: from the package on, or relative to `folder` if the file is below it."""
    parts = file.split("/")
    if package in parts[:-1]:
        return "/".join(parts[len(parts) - 1 - parts[::-1].index(package) :])
    inside = file.startswith(folder.rstrip("/") + "/") if folder else False
    return os.path.relpath(file, folder) if inside else parts[-1] if len(parts) > 4 else file
