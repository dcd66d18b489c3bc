"""`python -m torchada.testing BACKEND [--only SUBJECT] [--json]`: what the adapter of a backend offers, lacks and gets wrong."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pkgutil import resolve_name

from torchada.backends import select
from torchada.backends.descriptor import Backend
from torchada.base import plugins
from torchada.base.adapters import ADAPTERS
from torchada.testing import check_backend

_UNUSABLE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: no fault; 1: faults; 2: there is no such backend, or its adapter cannot be imported."""
    parser = argparse.ArgumentParser("python -m torchada.testing", description=main.__doc__)
    parser.add_argument("backend", help="the name of an installed backend, or where one is: package.module:NAME")
    parser.add_argument(
        "--json", action="store_true", help="print JSON, as torchada/report/schemas/backend-check.json describes it"
    )
    parser.add_argument(
        "--only", default="", metavar="SUBJECT", help="a subject, such as tensors, or the name of one check"
    )
    options = parser.parse_args(arguments)
    try:
        report = check_backend(_backend(options.backend), options.only)
    except Exception as error:
        print(f"{options.backend} cannot be checked: {type(error).__name__}: {error}", file=sys.stderr)
        return _UNUSABLE
    print(json.dumps(report.as_json(), indent=2) if options.json else report.as_text())
    return report.exit_code


def _backend(name: str) -> Backend:
    backend = resolve_name(name) if ":" in name else select.find(name)
    if not isinstance(backend, Backend):
        names = ", ".join([*ADAPTERS, *select.BY_NAME_ONLY, *plugins.names(select.GROUP)])
        raise LookupError(f"there is no backend {name!r}; expected {names}, or package.module:NAME")
    return backend


if __name__ == "__main__":
    sys.exit(main())
