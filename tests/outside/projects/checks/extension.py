"""Loads an extension without its package, which asks for more than the extension needs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def load(name: str, folder: str) -> Any:
    """The module `name` from its library in `folder`, below the folder of the build."""
    (library,) = Path(folder).glob(f"{name.rpartition('.')[2]}*.so")
    spec = importlib.util.spec_from_file_location(name, library)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
