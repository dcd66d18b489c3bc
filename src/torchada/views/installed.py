"""The packages that are installed, found by their metadata and without importing them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from typing import NamedTuple

from torchada.views import elf
from torchada.views.asker import Asker
from torchada.views.by_name import PORTIONS

_OF_NVIDIA = re.compile(r"lib(?:cudart|cublas|cublasLt|cuda)\.so\b.*")
_NEEDS_TORCH = re.compile(r"\s*torch\b(?![-_.])")


class Package(NamedTuple):
    """A top-level package, the distribution that brings it ("timm 1.0"; empty for none), and whether that needs torch."""

    name: str
    distribution: str
    needs_torch: bool


def packages() -> list[Package]:
    """All of them, in the order of their names."""
    by_name: dict[str, Package] = {}
    for distribution in distributions():
        needs_torch = any(map(_NEEDS_TORCH.match, distribution.requires or ()))
        text = f"{distribution.metadata['Name']} {distribution.version}"
        for name in _brought_by(distribution):
            if name not in by_name or needs_torch:
                by_name[name] = Package(name, text, needs_torch)
    return sorted(by_name.values(), key=lambda package: package.name.lower())


def asker_of(name: str) -> Asker | None:
    """The asker that stands for a package, module or script; None where there is none. `name` may be a file that ends in .py."""
    if name.endswith(".py") and os.path.isfile(name):
        file = os.path.abspath(name)
        return Asker("__main__", file, (file,))
    try:
        spec = find_spec(name.partition(".")[0])
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations is not None:
        places = tuple(map(str, spec.submodule_search_locations))
        if "." in name and not any(os.path.exists(os.path.join(place, *name.split(".")[1:])) for place in places):
            return None
        return Asker(name, name, places)
    return Asker(name, name, (spec.origin,) if spec.has_location and spec.origin else ())


def libraries_of_nvidia(places: Iterable[str]) -> list[str]:
    """The libraries of NVIDIA's runtime, cuBLAS and driver that the libraries below `places` need."""
    return sorted({name for file in _libraries(places) for name in _needed(file) if _OF_NVIDIA.fullmatch(name)})


def _brought_by(distribution: Distribution) -> set[str]:
    """The importable names at the top of a distribution, and the parts of packages that have a view of their own."""
    files = [file.as_posix() for file in distribution.files or () if file.suffix == ".py"]
    tops = {file.partition("/")[0] for file in files} or (distribution.read_text("top_level.txt") or "").split()
    names = {top.removesuffix(".py") for top in tops}
    portions = {
        portion for portion in PORTIONS if any(file.startswith(f"{portion.replace('.', '/')}/") for file in files)
    }
    return {name for name in names if name.isidentifier() and not name.startswith("__")} | portions


def _libraries(places: Iterable[str]) -> Iterator[str]:
    for place in places:
        for folder, _, files in os.walk(place):
            yield from (os.path.join(folder, name) for name in files if ".so" in name)


def _needed(file: str) -> list[str]:
    try:
        return elf.needed(file)
    except OSError:
        return []
