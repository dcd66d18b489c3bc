"""What commands that report something have in common: text, --json, and files for --report, each whole or not at all."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchada.report.terminal import Terminal

Document = Mapping[str, Any]
Writer = Callable[[], str]


def arguments(parser: argparse.ArgumentParser, kind: str, suffixes: Sequence[str] = ()) -> None:
    """Declare --json, and --report for a command that writes files with these suffixes."""
    parser.add_argument(
        "--json", action="store_true", help=f"print JSON, as torchada/report/schemas/{kind}.json describes it"
    )
    if suffixes:
        parser.add_argument(
            "--report",
            metavar="FILE",
            action="append",
            default=[],
            help=f"write a report: {' or '.join(suffixes)}; may be given more than once",
        )


def show(options: argparse.Namespace, document: Document, text: Callable[[Terminal], list[str]]) -> None:
    """Print the document, as JSON or as lines."""
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        print("\n".join(text(Terminal(sys.stdout))))


def write(options: argparse.Namespace, writers: Mapping[str, Writer]) -> bool:
    """Write the files of --report, each by the writer of its suffix; False, with a message, where one cannot be written."""
    for file in options.report:
        writer = next(writer for suffix, writer in writers.items() if file.endswith(suffix))
        try:
            write_whole(file, writer())
        except OSError as error:
            print(f"torchada {options.command}: --report {file}: {error.strerror}", file=sys.stderr)
            return False
    return True


def as_json(document: Document) -> str:
    """The document as the text of a file."""
    return json.dumps(document, indent=1) + "\n"


def write_whole(file: str, text: str) -> None:
    """Write a file, whole or not at all; OSError where that fails. Names of files, which need not be text, are escaped."""
    write_bytes_whole(file, text.encode("utf-8", "backslashreplace"))


def write_bytes_whole(file: str, data: bytes) -> None:
    """The same for what is bytes already."""
    partial = f"{file}.{os.getpid()}.tmp"
    try:
        with open(partial, "wb") as stream:
            stream.write(data)
        os.replace(partial, file)
    except OSError:
        if os.path.exists(partial):
            os.unlink(partial)
        raise
