"""From the globals of the frame that asks to the package that they belong to."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from torchada.views import given_names
from torchada.views.asking import Globals
from torchada.views.by_name import PORTIONS

# Modules that programs run as: by `python script.py`, and in the children of multiprocessing.
_MAIN = ("__main__", "__mp_main__")
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SITE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_TESTERS = frozenset({"pytest", "_pytest", "pluggy"})
# Packages that others' code is downloaded into: each module there is a program of its own.
_COLLECTIONS = frozenset({"transformers_modules", "diffusers_modules"})


class Asker(NamedTuple):
    """Code that asks: the `name` of its module, its top-level `package` (for a script, the path of its file), and its `sources`:
    files and folders, for a namespace package several. Code without a name, as `exec` runs it, has empty strings.

    Of several modules that share a name, those that are not in sys.modules have the path of their file as `package` too. `text` is
    the source of a program that has no file, as far as it is known.
    """

    name: str
    package: str
    sources: tuple[str, ...]
    text: str = ""

    @property
    def names(self) -> tuple[str, str]:
        """What people may call this code by: its package, and the first word of its name, which is __main__ for a script."""
        return self.package, self.name.partition(".")[0]


def is_one(namespace: Globals) -> bool:
    """Whether `key_of` names this code and no other, so that the answer to it may be remembered."""
    name = namespace.get("__name__")
    if isinstance(namespace.get("__file__"), str) or not name:
        return True
    return isinstance(name, str) and getattr(sys.modules.get(name), "__dict__", None) is namespace


def asker(namespace: Globals) -> Asker:
    """The code whose globals are `namespace`."""
    name, file = namespace.get("__name__"), namespace.get("__file__")
    if name in _MAIN:
        name = _name_for_m(namespace)
        if name is None:
            return _script(namespace, file)
    if not isinstance(name, str) or not all(
        part.isidentifier() for part in name.split(".")
    ):  # as runpy names what it runs
        return Asker("", file, (file,)) if isinstance(file, str) else Asker("", "", ())
    package = name.partition(".")[0]
    if package in _COLLECTIONS and isinstance(file, str):
        return Asker(name, name, (file,))
    home = _home(name, namespace)
    if home is None:
        package, sources = _by_place(name, namespace)
    else:
        sources = _of_the_package(home)
        if isinstance(file, str) and given_names.is_given(name, namespace, home, sources):
            name, package = given_names.by_path(file)
            sources = (package,)
    portion = next((known for known in PORTIONS if f"{name}.".startswith(f"{known}.")), None)
    return Asker(name, portion or package, sources)


def asks_for_its_caller(who: Asker) -> bool:
    """Whether code asks for the code that called it: the standard library does, and what runs tests (`pytest.raises(match=)`)."""
    return who.package in _TESTERS or is_standard(who)


def is_standard(who: Asker) -> bool:
    """Whether code is part of the standard library; a user's own `code.py` is not."""
    if who.names[1] not in sys.stdlib_module_names or who.names[1] in _MAIN:
        return False
    return all(file.startswith(_STANDARD_LIBRARY) and not any(part in file for part in _SITE) for file in who.sources)


def _name_for_m(namespace: Globals) -> str | None:
    """The name of the module that `python -m` runs; None for a script, also where it is a folder or run by cProfile or pdb."""
    name = getattr(namespace.get("__spec__"), "name", None)
    return name if isinstance(name, str) and name not in ("", *_MAIN) else None


def _script(namespace: Globals, file: object) -> Asker:
    if isinstance(file, str):
        return Asker("__main__", file, (file,))
    return Asker("__main__", "__main__", (), _cells(namespace) or _command())


def _cells(namespace: Globals) -> str:
    """What has been entered in IPython or a notebook so far."""
    cells = namespace.get("In")
    return "\n".join(cell for cell in cells if isinstance(cell, str)) if isinstance(cells, list) else ""


def _command() -> str:
    """The program of `python -c`; empty for standard input."""
    words = list(getattr(sys, "orig_argv", ()))
    if sys.argv[:1] == ["-c"] and "-c" in words:
        return "".join(words[words.index("-c") + 1 :][:1])
    return ""


def _home(name: str, namespace: Globals) -> Globals | None:
    """The names of the top-level package of a module, if it has been imported; None where there is none of this name.

    Read from its dictionary, because an attribute of a lazy module may import something.
    """
    package, dot, _ = name.partition(".")
    home = getattr(sys.modules.get(package), "__dict__", None)
    if not isinstance(home, dict) or (not dot and home is not namespace):  # or it is other code of the same name
        return None
    return home


def _of_the_package(home: Globals) -> tuple[str, ...]:
    """The sources of a package or module that has these names."""
    path = home.get("__path__", getattr(home.get("__spec__"), "submodule_search_locations", None))
    if path is not None:
        try:
            return tuple(map(str, path))
        except RecursionError:  # of the program that asks
            raise
        except Exception:  # __path__ is the package's own business
            return ()
    file = home.get("__file__")
    return (file,) if isinstance(file, str) else ()


def _by_place(name: str, namespace: Globals) -> tuple[str, tuple[str, ...]]:
    """The package and sources of a module whose package is not in sys.modules: by the place of its file, or the file alone."""
    package, dot, _ = name.partition(".")
    file = namespace.get("__file__")
    if not isinstance(file, str):
        return package, ()
    place = given_names.place_of(name, namespace) if dot or "__path__" in namespace else None
    return (file, (file,)) if place is None else (package, (place,))
