"""PEP 517 / 660 backend: setuptools, then the start-up files at the top of the wheel, then reproducible archives.

site.py reads .pth and .start files only from the top of site-packages, for which setuptools has no setting. Adding them to the
finished wheel uses only public hooks and works for `pip install .`, `pip install -e .` and `python -m build` alike. They are listed
in RECORD, so uninstalling removes them.

`--config-setting pure=true` builds a wheel without the C extension, which installs on any processor (py3-none-any).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import reproducible
from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401  (hooks used unchanged)
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

SOURCE = Path(__file__).resolve().parents[2] / "sitecustomize"
# The place of each file in the wheel. sitecustomize.py must not be on sys.path by default: users who need it name its folder.
STARTUP_FILES = {
    "torchada-init.pth": "torchada-init.pth",
    "torchada-init.start": "torchada-init.start",
    "sitecustomize.py": "torchada/sitecustomize/sitecustomize.py",
}
Settings = dict[str, object] | None
_PURE = "TORCHADA_BUILD_PURE"  # tells setup.py of the setting, which setuptools does not pass on


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
    """Make setup.py leave the extension out where the setting asks for it. Yields the other settings, which are setuptools'."""
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
