"""Runs a project's own setup.py, of whose sources only those are compiled that OUTSIDE_ONLY names: for many sizes of one kernel.

`python -m outside.projects.partly setup.py build_ext --inplace`. The globs in OUTSIDE_ONLY are separated by colons.
"""

from __future__ import annotations

import fnmatch
import os
import runpy
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import setuptools


def chosen(extensions: Iterable[Any], globs: Sequence[str]) -> list[Any]:
    """The extensions with the sources that are named; those without any are left out."""
    kept = []
    for extension in extensions:
        extension.sources = [each for each in extension.sources if any(fnmatch.fnmatch(each, glob) for glob in globs)]
        if extension.sources:
            kept.append(extension)
    return kept


def partly(setup: Callable[..., Any], globs: Sequence[str]) -> Callable[..., Any]:
    """`setup`, which builds that much."""

    def of_a_part(*, ext_modules: Iterable[Any] = (), **given: Any) -> Any:
        extensions = chosen(ext_modules, globs)
        if not extensions:
            raise SystemExit(f"no extension has a source that {os.pathsep.join(globs)} names")
        return setup(ext_modules=extensions, **given)

    return of_a_part


if __name__ == "__main__":
    setuptools.setup = partly(setuptools.setup, os.environ["OUTSIDE_ONLY"].split(os.pathsep))
    del sys.argv[0]
    sys.path[0] = os.getcwd()
    runpy.run_path(sys.argv[0], run_name="__main__")
