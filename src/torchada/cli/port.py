"""`torchada port`: CUDA sources for MUSA, and what could not be ported."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from torchada import __version__


def add_parser(commands: Any) -> None:
    """Add the `port` command to a set of sub-parsers."""
    parser = commands.add_parser(
        "port",
        help="port CUDA sources to MUSA, into a folder of their own",
        description="Without --output nothing is written. Exit code 0: done; 1: --check found something unported; 2: it failed.",
    )
    parser.add_argument("sources", nargs="+", metavar="SRC", help="a folder or a file")
    parser.add_argument("-o", "--output", metavar="OUT", help="the folder to write, as a whole or not at all")
    parser.add_argument("--diff", action="store_true", help="print what changes, as a unified diff")
    parser.add_argument("--report", metavar="FILE", help="write a report: report.json or report.html")
    parser.add_argument("--check", action="store_true", help="exit with 1 where something has no counterpart")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes to use; by default one for each core")
    parser.set_defaults(act=port)


def port(options: argparse.Namespace) -> int:
    """Port; returns the exit code."""
    from torchada.porting import PortingError, port_tree

    try:
        if options.report and not options.report.endswith((".json", ".html")):
            raise PortingError(f"{options.report}: a report ends in .json or .html")
        tree = port_tree(options.sources, options.output, processes=options.jobs)
        if options.diff:
            _print_diff(port_tree(options.sources, None, keep_texts=True).texts)
        if options.report:
            _write_report(tree, options)
    except (PortingError, OSError) as error:
        print(f"torchada port: {error}", file=sys.stderr)
        return 2
    _print_summary(tree, options)
    return 1 if options.check and tree.unported else 0


def _print_summary(tree: Any, options: argparse.Namespace) -> None:
    from torchada.porting.report import as_text

    print(as_text(tree), file=sys.stderr if options.diff else sys.stdout)


def _print_diff(texts: dict[str, tuple[bytes, bytes]]) -> None:
    """Bytes as they are: the diff of a latin-1 source is latin-1."""
    from torchada.porting.includes import renamed

    for path, (before, after) in sorted(texts.items()):
        if before != after:
            names = (f"a/{path}".encode(), f"b/{renamed(path)}".encode())
            lines = difflib.diff_bytes(
                difflib.unified_diff, before.splitlines(True), after.splitlines(True), *names, lineterm=b"\n"
            )
            for line in lines:
                sys.stdout.buffer.write(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n")
    sys.stdout.flush()


def _write_report(tree: Any, options: argparse.Namespace) -> None:
    from torchada.porting.report import as_html, as_json

    make = as_html if options.report.endswith(".html") else as_json
    text = make(tree, options.sources, __version__)
    target = Path(options.report)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(name, 0o644)
    os.replace(name, target)
