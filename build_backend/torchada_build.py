"""PEP 517 / 660 backend: setuptools, then the start-up files at the top of the wheel, then archives that can be built again.

site.py reads .pth and .start files only from the top of site-packages, a place setuptools has no setting for. Adding them to
the finished wheel uses public hooks alone and serves `pip install .`, `pip install -e .` and `python -m build` alike; being
listed in RECORD, they go away on uninstall.

`--config-setting pure=true` builds a wheel without the C extension, which installs on any processor (py3-none-any).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import reproducible
from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401  (hooks taken over as they are)
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

SOURCE = Path(__file__).resolve().parent.parent / "sitecustomize"
# What goes where in the wheel. sitecustomize.py must not lie on sys.path by itself: whoever needs it names its folder.
STARTUP_FILES = {
    "torchada-init.pth": "torchada-init.pth",
    "torchada-init.start": "torchada-init.start",
    "sitecustomize.py": "torchada/sitecustomize/sitecustomize.py",
}
Settings = dict[str, object] | None
_PURE = "TORCHADA_BUILD_PURE"  # how setup.py learns of the setting; setuptools hands it none


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build a source distribution; returns its file name in `sdist_directory`."""
    name: str = build_meta.build_sdist(sdist_directory, config_settings)  # type: ignore[arg-type]
    reproducible.rewrite_sdist(Path(sdist_directory, name))
    return name


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Build a wheel; returns its file name in `wheel_directory`."""
    with _pure(config_settings) as settings:
        name: str = build_meta.build_wheel(wheel_directory, settings, metadata_directory)  # type: ignore[arg-type]
    reproducible.rewrite_wheel(Path(wheel_directory, name), _startup_files())
    return name


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build an editable wheel; returns its file name in `wheel_directory`."""
    with _pure(config_settings) as settings:
        name: str = build_meta.build_editable(wheel_directory, settings, metadata_directory)  # type: ignore[arg-type]
    # In an editable install torchada/ is the checkout, so a torchada/ folder in the wheel would shadow it.
    at_the_top = {target: data for target, data in _startup_files().items() if "/" not in target}
    reproducible.rewrite_wheel(Path(wheel_directory, name), at_the_top)
    return name


def _startup_files() -> dict[str, bytes]:
    return {target: (SOURCE / source).read_bytes() for source, target in STARTUP_FILES.items()}


@contextmanager
def _pure(settings: Settings) -> Iterator[Settings]:
    """Have setup.py leave the extension out where the setting asks for it. Yields the other settings, which are setuptools'."""
    others = dict(settings or {})
    pure = others.pop("pure", "false")
    if pure not in ("true", "false"):
        raise ValueError(f"the config setting 'pure' is true or false, not {pure!r}")
    if pure == "true":
        os.environ[_PURE] = "1"
    try:
        yield others
    finally:
        os.environ.pop(_PURE, None)
