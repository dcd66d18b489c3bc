"""From the globals of the frame that asks to the package that they belong to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

# Modules that programs run as: by `python script.py`, and in the children of multiprocessing.
_MAIN = ("__main__", "__mp_main__")
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SITE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
Globals = Mapping[str, Any]


class Asker(NamedTuple):
    """Code that asks: the `name` of its module, its top-level `package` (for a script, the path of its file), and its `sources`:
    files and folders, for a namespace package several. Code without a name, as `exec` runs it, has empty strings.
    """

    name: str
    package: str
    sources: tuple[str, ...]


def key_of(namespace: Globals) -> str:
    """What the answer to a module is remembered under: its name; for a script its file, because several may be called __main__."""
    name = namespace.get("__name__")
    if name in _MAIN:
        file = namespace.get("__file__")
        return file if type(file) is str else "__main__"
    return name if type(name) is str else ""


def asker(namespace: Globals) -> Asker:
    """The code whose globals are `namespace`."""
    name = namespace.get("__name__")
    if name in _MAIN:
        spec = namespace.get("__spec__")  # of `python -m package.module`
        if spec is None or not isinstance(getattr(spec, "name", None), str):
            return _script(namespace.get("__file__"))
        name = spec.name
    if not isinstance(name, str) or not name:
        return Asker("", "", ())
    package = name.partition(".")[0]
    return Asker(name, package, _sources(package, namespace))


def is_standard(package: str, sources: Iterable[str]) -> bool:
    """Whether `package` is part of the standard library; a user's own `code.py` is not."""
    if package not in sys.stdlib_module_names:
        return False
    return all(file.startswith(_STANDARD_LIBRARY) and not any(each in file for each in _SITE) for file in sources)


def _script(file: object) -> Asker:
    if isinstance(file, str):
        return Asker("__main__", file, (file,))
    return Asker("__main__", "__main__", ())


def _sources(package: str, namespace: Globals) -> tuple[str, ...]:
    module = sys.modules.get(package)
    home = vars(module) if module is not None else namespace
    path = home.get("__path__")
    if path is not None:
        try:
            return tuple(map(str, path))
        except Exception:  # __path__ is the package's own business
            return ()
    file = home.get("__file__")
    return (file,) if isinstance(file, str) else ()
