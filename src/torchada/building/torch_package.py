"""The package that CMake's find_package(Torch) finds: PyTorch's own, with the accelerator in the place of CUDA.

PyTorch's own files are those of a build without CUDA, so they enable no language and know no libraries for a device.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchada.building.cuda_home import cuda_home
from torchada.building.cuda_home_files import CMAKE_RULES, LAUNCHER, VERSION
from torchada.building.errors import BuildError
from torchada.building.libraries import TORCH
from torchada.building.stable_abi import stable_include_dirs
from torchada.building.toolkit import Toolkit

if TYPE_CHECKING:
    from _torchada_cache.cache import Cache

_CACHE = "torch-package"
_TEMPLATE = Path(__file__).with_name("torch_package.cmake")


def of_backend(backend: Any, namespace: Any, torchs_own: str, chosen: str | None) -> str:
    """The same for the toolkit of `backend`, with `namespace`, torch's module for its devices; `torchs_own` where there is none."""
    from torchada.building.adapter import toolkit_of

    toolkit = toolkit_of(backend, namespace)
    home = cuda_home(toolkit, chosen)
    return torchs_own if home is None else torch_package(toolkit, home, torchs_own, chosen)


def torch_package(toolkit: Toolkit, home: str, torchs_own: str, chosen: str | None) -> str:
    """A folder like `torchs_own`, which is torch.utils.cmake_prefix_path, for builds that see CUDA; it is made unless it exists.

    `home` is the folder that builds take for CUDA's toolkit, `chosen` that of caches, if the user has named one.
    """
    text = _config(toolkit, home, torchs_own)
    name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def make(place: Path) -> None:
        (place / "Torch").mkdir()
        (place / "Torch" / "TorchConfig.cmake").write_text(text, encoding="utf-8")
        version = Path(torchs_own, "Torch", "TorchConfigVersion.cmake")
        if version.is_file():
            (place / "Torch" / version.name).symlink_to(version)

    return str(_cache(chosen).get(name, make))


def _cache(chosen: str | None) -> Cache:
    from torchada.base.caches import CacheError, cache, temporary

    try:
        return cache(_CACHE, chosen)
    except CacheError as error:
        if chosen:
            raise BuildError(str(error)) from error
        return temporary(_CACHE)


def _config(toolkit: Toolkit, home: str, torchs_own: str) -> str:
    values = {
        "TORCH": torchs_own,
        "HOME": home,
        "RULES": CMAKE_RULES,
        "VERSION": VERSION,
        "TOOLKIT": f"{toolkit.name}'s",
        "LAUNCHER": os.path.join(home, "bin", LAUNCHER),
        "INCLUDE": _folders([*stable_include_dirs(toolkit), *toolkit.include_dirs(), os.path.join(home, "include")]),
        "STABLE": _folders(stable_include_dirs(toolkit)),
        "LIBRARIES": ";".join(_libraries(toolkit, home)),
        "FOLDERS": _folders(toolkit.library_dirs()),
        "TARGETS": ";".join(sorted(TORCH)),
    }
    text = _TEMPLATE.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _libraries(toolkit: Toolkit, home: str) -> list[str]:
    """The adapter's libraries and the runtime's, by their paths."""
    folders = [*toolkit.library_dirs(), os.path.join(home, "lib64")]
    paths = [
        os.path.join(folder, f"lib{name}.so") for name in (*toolkit.libraries, toolkit.runtime) for folder in folders
    ]
    first = {os.path.basename(path): path for path in reversed(paths) if os.path.exists(path)}
    return sorted(first.values())


def _folders(paths: Sequence[str]) -> str:
    """Those that there are: CMake refuses a target with one that is not there."""
    return ";".join(dict.fromkeys(path for path in paths if os.path.isdir(path)))
