"""`torchada views`: which packages see CUDA, which see MUSA, and why."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from torchada.backends import select
from torchada.base import settings as _settings
from torchada.cli.command import Command
from torchada.report import schemas
from torchada.report.text import table
from torchada.views import installed
from torchada.views.asker import Asker
from torchada.views.by_name import known
from torchada.views.rules import Rules
from torchada.views.sources import Words

Row = dict[str, Any]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "packages",
        nargs="*",
        metavar="PACKAGE",
        help="packages, or scripts that end in .py (default: the installed packages that need torch or have a row)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON, as torchada/report/schemas/views.json describes it"
    )


def views(options: argparse.Namespace) -> int:
    """Print the views; returns the exit code."""
    settings = _settings.read()
    backend = select.before_torch(settings).backend
    rules = Rules(settings, backend.adapter, Words.of(backend)) if backend else Rules(settings, "torch_musa")
    rows = [_row(package, asker, rules) for package, asker in _chosen(options, rules)]
    document = {**schemas.envelope("views"), "packages": rows}
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        print("\n".join(_text(rows, options.verbosity)))
    return 0


def _chosen(options: argparse.Namespace, rules: Rules) -> Iterator[tuple[installed.Package, Asker]]:
    every = {package.name: package for package in installed.packages()}
    wanted = [every.get(name) or installed.Package(name, "", False) for name in options.packages]
    for package in wanted or every.values():
        asker = installed.asker_of(package.name)
        if asker is not None and (wanted or options.verbosity > 0 or _is_of_interest(package, asker, rules)):
            yield package, asker
        elif asker is None and wanted:
            expected = "expected a package that can be imported, or a script that ends in .py"
            options.parser.error(f"{package.name}: {expected}")


def _is_of_interest(package: installed.Package, asker: Asker, rules: Rules) -> bool:
    if package.distribution.startswith("torchada "):  # its other packages: torch_host, torch_battery, the simulator
        return False
    return (package.needs_torch or known(package.name) is not None) and not rules.is_of_the_stack(asker)


def _row(package: installed.Package, asker: Asker, rules: Rules) -> Row:
    decision = rules.decide(asker)
    return {
        "package": package.name,
        "distribution": package.distribution or None,
        "view": "cuda" if decision.sees_cuda else "musa",
        "why": decision.why,
        "nvidia_libraries": [] if rules.is_of_the_stack(asker) else installed.libraries_of_nvidia(asker.sources),
    }


def _text(rows: list[Row], verbosity: int) -> Iterator[str]:
    if not rows:
        yield "no package that needs torch is installed"
    shown = ((row["package"], row["view"], *([row["why"]] if verbosity >= 0 else [])) for row in rows)
    yield from table(shown, indent="")
    doubtful = [row for row in rows if _is_doubtful(row)] if verbosity >= 0 else []
    for row in doubtful:
        yield (
            f'{row["package"]}: its libraries need {", ".join(row["nvidia_libraries"])}; if it is these that its "cuda" means, '
            f"set TORCHADA_MUSA_VIEW={row['package']}"
        )


def _is_doubtful(row: Row) -> bool:
    """Whether NVIDIA's libraries are needed by a package that sees CUDA and has not been judged."""
    return row["view"] == "cuda" and bool(row["nvidia_libraries"]) and known(row["package"]) is None


COMMAND = Command(
    summary="show which packages see CUDA and which see MUSA, and why",
    description="Show which installed packages see CUDA and which see MUSA, and why. Nothing is imported. "
    "Exit code 0: done; 2: a package cannot be found.",
    quiet="print no reasons",
    verbose="list all installed packages, not those alone that need torch or have a row",
    arguments=arguments,
    act=views,
)
