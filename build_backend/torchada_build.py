"""PEP 517 / 660 backend: setuptools, and then the start-up files at the top of the wheel.

site.py reads .pth and .start files only from the top of site-packages, a place setuptools has no setting for. Adding them to
the finished wheel uses public hooks alone and serves `pip install .`, `pip install -e .` and `python -m build` alike; being
listed in RECORD, they go away on uninstall.
"""

from __future__ import annotations

import base64
import hashlib
import os
import zipfile
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401  (hooks taken over as they are)
    build_sdist,
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


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Build a wheel; returns its file name in `wheel_directory`."""
    name: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)  # type: ignore[arg-type]
    _add_startup_files(Path(wheel_directory, name))
    return name


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build an editable wheel; returns its file name in `wheel_directory`."""
    name: str = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)  # type: ignore[arg-type]
    _add_startup_files(Path(wheel_directory, name), editable=True)
    return name


def _add_startup_files(wheel: Path, *, editable: bool = False) -> None:
    """Rewrite `wheel` with the start-up files added to its contents and to its RECORD."""
    # In an editable install torchada/ is the checkout, so a torchada/ folder in the wheel would shadow it.
    added = {
        target: (SOURCE / source).read_bytes()
        for source, target in STARTUP_FILES.items()
        if not (editable and "/" in target)
    }
    rewritten = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(rewritten, "w", zipfile.ZIP_DEFLATED) as new:
        for item in old.infolist():
            data = old.read(item)
            if item.filename.endswith(".dist-info/RECORD"):
                data = "".join(_record_line(*entry) for entry in added.items()).encode() + data
            new.writestr(item, data)
        for target, data in added.items():
            new.writestr(_entry(target), data)
    os.replace(rewritten, wheel)


def _entry(target: str) -> zipfile.ZipInfo:
    """A plain readable file with a fixed date, so that the same tree gives the same wheel."""
    info = zipfile.ZipInfo(target, date_time=(1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _record_line(target: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{target},sha256={digest},{len(data)}\n"
