"""docs/reference/cli.md and docs/reference/json.md, from the `--help` of each command and from the JSON Schemas of the documents.

`python scripts/reference_pages.py` writes both; with `--check` it writes nothing, and ends with 1 where a page is out of date.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
SCHEMAS = ROOT / "src" / "torchada" / "report" / "schemas"
# Programs that are not commands of `torchada`.
MODULES = ("torchada.testing", "musasim")

_CLI = """# Command line

Made by `python scripts/reference_pages.py` from what each command says under `--help`; a test compares them.

`torchada` and `python -m torchada` are the same command.
"""
_JSON = """# JSON formats

Made by `python scripts/reference_pages.py` from the JSON Schemas in `src/torchada/report/schemas`; a test compares them.

Every document that torchada writes as JSON begins with the same four entries: `schema`, its kind; `version`, which changes when an
entry is removed or changes its meaning; `torchada`, the version that wrote it; and `created`. An HTML report holds it too,
in `<script type="application/json" id="report">`.

In the tables, `a.b` is the entry `b` of the object `a`, and `a[].b` that of each element of the list `a`.
"""


def cli_page() -> str:
    """The help of each command, and of the modules that are programs of their own."""
    top = help_of("torchada")
    sections = [_section("torchada", top)]
    sections += [_section(f"torchada {name}", help_of("torchada", name)) for name in commands(top)]
    sections += [_section(f"python -m {module}", help_of(module)) for module in MODULES]
    return "\n".join([_CLI, *sections])


def help_of(module: str, *command: str) -> str:
    """The help of a command, the same on each version of Python and on each terminal."""
    plain = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHON_COLORS": "0"}
    done = subprocess.run(
        [sys.executable, "-m", module, *command, "--help"],
        env={**os.environ, **plain},
        check=True,
        capture_output=True,
        text=True,
    )
    # Before Python 3.13 argparse repeats the value: "-o OUT, --output OUT".
    return re.sub(
        r"(-\w) (\S+), (--[\w-]+ \2)", lambda match: f"{match[1]}, {match[3]}".ljust(len(match[0])), done.stdout
    )


def commands(text: str) -> list[str]:
    """The commands that the help of `torchada` lists."""
    return re.findall(
        r"^    ([a-z]\S*)(?: |$)", text.partition("COMMAND\n")[2].partition("\noptions:")[0], re.MULTILINE
    )


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n```text\n{text.strip()}\n```\n"


def json_page() -> str:
    """The page with a section for each schema."""
    schemas = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(SCHEMAS.glob("*.json"))]
    return "\n".join([_JSON, *("\n".join(_of_schema(schema)) for schema in schemas)])


def _of_schema(schema: dict[str, Any]) -> Iterator[str]:
    kind = schema["properties"]["schema"]["const"]
    yield f"## {kind}\n\n{schema['title']}. Version {schema['properties']['version']['const']}.\n"
    yield "| entry | type | meaning |\n|---|---|---|"
    for name, entry in _entries(schema, schema):
        yield f"| `{name}` | {_type(entry)} | {_cell(entry.get('description', ''))} |"
    yield ""


def _entries(schema: dict[str, Any], root: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every entry with its path, including those of inner objects and of elements of lists."""
    for name, given in schema.get("properties", {}).items():
        entry = _resolved(given, root)
        yield prefix + name, entry
        items = _resolved(entry.get("items", {}), root)
        yield from _entries(entry, root, f"{prefix}{name}.")
        yield from _entries(items, root, f"{prefix}{name}[].")


def _resolved(entry: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """An entry with its reference (`#/$defs/name`) replaced by what it refers to."""
    if "$ref" not in entry:
        return entry
    target: Any = root
    for part in entry["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**target, **{key: value for key, value in entry.items() if key != "$ref"}}


def _type(entry: dict[str, Any]) -> str:
    if "const" in entry:
        return f"`{json.dumps(entry['const'])}`"
    if "enum" in entry:
        return ", ".join(f"`{json.dumps(value)}`" for value in entry["enum"])
    kinds = entry.get("type", "any")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _words(text: str) -> list[str]:
    """The words of a text, which are compared because line breaks differ between versions of Python."""
    return text.split()


PAGES = {REFERENCE / "cli.md": cli_page, REFERENCE / "json.md": json_page}


def main() -> int:
    """Write or compare; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    stale = [
        path
        for path, make in PAGES.items()
        if not path.exists() or _words(path.read_text(encoding="utf-8")) != _words(make())
    ]
    if options.check:
        print(
            "".join(f"{path.relative_to(ROOT)} is not what scripts/reference_pages.py writes\n" for path in stale),
            end="",
        )
        return 1 if stale else 0
    for path in stale:
        path.write_text(PAGES[path](), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
