"""Lists a version of the documentation's site: `python scripts/site_versions.py SITE VERSION`, once its pages lie in SITE/VERSION.

SITE/versions.json is what the theme's list of versions reads (the format of mike), and SITE/index.html leads to the newest release.
A version that is no release, such as `main`, comes first in the list, and nobody is led to it unless there is no other.
"""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path

LATEST = "latest"
Entry = dict[str, object]


def main(arguments: list[str]) -> int:
    """Add the version, and write both files."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    site, version = Path(arguments[0]), arguments[1]
    if not (site / version / "index.html").is_file():
        print(f"{site / version}: there is no index.html: build the site there first", file=sys.stderr)
        return 2
    listed = entries(known(site) | {version})
    (site / "versions.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    (site / "index.html").write_text(page(newest(listed)), encoding="utf-8")
    return 0


def known(site: Path) -> set[str]:
    """The versions that are listed and still there."""
    file = site / "versions.json"
    listed = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return {entry["version"] for entry in listed if (site / entry["version"]).is_dir()}


def entries(versions: set[str]) -> list[Entry]:
    """An entry for each version, the newest first; the newest release is the latest."""
    order = sorted(versions, key=number, reverse=True)
    latest = next((version for version in order if is_release(version)), None)
    return [{"version": one, "title": one, "aliases": [LATEST] if one == latest else []} for one in order]


def newest(listed: list[Entry]) -> str:
    """The version that a reader is led to."""
    return str(next((entry for entry in listed if entry["aliases"]), listed[0])["version"])


def is_release(version: str) -> bool:
    """Whether a version is made of numbers alone."""
    return all(part.isdecimal() for part in version.split("."))


def number(version: str) -> tuple[bool, list[int], str]:
    """What versions are ordered by; one that is no release is newer than all that are."""
    return (False, [int(part) for part in version.split(".")], "") if is_release(version) else (True, [], version)


def page(version: str) -> str:
    """A page that leads to a version."""
    target = f"{escape(version)}/"
    return (
        f'<!DOCTYPE html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url={target}">\n'
        f'<title>torchada</title>\n<a href="{target}">torchada {escape(version)}</a>\n'
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
