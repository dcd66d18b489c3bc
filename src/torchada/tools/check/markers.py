"""Which requirements count: those whose marker is true on some platform that torchada supports, with some extra or none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

_LINUX = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "sys_platform": "linux",
}
_MACHINES = ("x86_64", "aarch64")
_MINORS = range(10, 16)
_PATCHES = (0, 99)  # a marker may ask for either end
_EXTRA = re.compile(r"\bextra\s*==\s*[\"']([^\"']+)[\"']")


def counts(marker: Marker | None) -> bool:
    """Whether a requirement with this marker is asked for; so is one whose marker cannot be decided."""
    if marker is None:
        return True
    try:
        return any(map(marker.evaluate, _environments(_EXTRA.findall(str(marker)))))
    except (UndefinedComparison, UndefinedEnvironmentName, KeyError):
        return True


def _environments(extras: list[str]) -> Iterator[dict[str, str]]:
    for minor, patch, machine, extra in product(_MINORS, _PATCHES, _MACHINES, ["", *extras]):
        full = f"3.{minor}.{patch}"
        yield {
            **_LINUX,
            "implementation_version": full,
            "platform_machine": machine,
            "platform_release": "6.8.0",
            "platform_version": "#1 SMP",
            "python_full_version": full,
            "python_version": f"3.{minor}",
            "extra": extra,
        }
