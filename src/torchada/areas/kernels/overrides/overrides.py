"""The overrides wanted in this process, and the owner through which the engine registers them and takes them back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchada.areas.kernels.overrides import library, sources
from torchada.areas.kernels.overrides.compiler import Builder, CompileError
from torchada.areas.kernels.overrides.library import Override
from torchada.areas.kernels.overrides.toolchain import compilers_for
from torchada.backends.releases import numbers
from torchada.base import settings as _settings
from torchada.base.caches import cache
from torchada.base.warnings import warn_once
from torchada.redirect.context import Context
from torchada.redirect.owners import MISSING


class Registrations:
    """An owner of patches: the kernels of a dispatch key, by the name of the operator."""

    __torchada_owner__ = True

    def __init__(self, key: str, logged: bool) -> None:
        self._key = key
        self._logged = logged
        self._in_force: dict[str, Override] = {}

    def get(self, name: str) -> Any:
        return self._in_force.get(name, MISSING)

    def set(self, name: str, value: Override) -> None:
        value.enable(self._key, self._logged)
        self._in_force[name] = value

    def delete(self, name: str) -> None:
        self._in_force.pop(name).disable()


def wanted(context: Context) -> Iterator[Override]:
    """Each override to be put in force: it compiles, this torch has the operator, and this adapter needs it.

    A source that does not compile ends in one warning, and the others are still yielded; TORCHADA_STRICT=1 raises CompileError.
    """
    settings, torch = context.settings, context.torch
    compilers = compilers_for(context)
    files = sources.find(settings.cpp_ops_path, compilers, settings.disabled_ops)
    builder = Builder(cache("cpp_ops", settings.cache), compilers, settings.cpp_ops_verbose)
    operators = frozenset(torch._C._dispatch_get_all_op_names())
    for source, built in builder.build(files).items():
        for override in _loaded(source, built):
            reason = _not_needed(override, context, operators)
            if settings.cpp_ops_verbose:
                print(f"torchada: aten::{override.name} {reason or f'is overridden by {source}'}", file=sys.stderr)
            if reason is None:
                yield override


def _loaded(source: Path, built: Path | CompileError) -> list[Override]:
    try:
        if isinstance(built, CompileError):
            raise built
        return library.load(built, source.name)
    except (CompileError, OSError) as error:
        variable = f"{_settings.DISABLE_OP}{source.stem}=1"
        warn_once(f"aten::{source.stem} is not overridden ({variable} leaves it out): {error}", error)
        return []


def _not_needed(override: Override, context: Context, operators: frozenset[str]) -> str | None:
    adapter, version = context.backend.adapter, str(getattr(context.namespace, "__version__", ""))
    if override.until and numbers(version) >= numbers(override.until):
        return f"is left to {adapter} {version}"
    if f"aten::{override.name}" not in operators:
        return f"does not exist in torch {context.torch.__version__}"
    return None
