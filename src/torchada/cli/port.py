"""`torchada port`: CUDA sources for MUSA, and what could not be ported."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchada.cli.command import Command, check_reports, positive
from torchada.cli.output import write_bytes_whole, write_whole

if TYPE_CHECKING:
    from torchada.porting.port import Plan

_SUFFIXES = (".json", ".html")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("sources", nargs="+", metavar="SRC", help="a folder or a file")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="the folder to write, as a whole or not at all; for one source, a file where the name ends as a source's (kernel.mu)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace files in the output folder that this command did not write, or that were changed since; or the file that "
        "--output names",
    )
    parser.add_argument("--diff", action="store_true", help="print what changes, as a unified diff")
    parser.add_argument(
        "--report",
        metavar="FILE",
        action="append",
        default=[],
        help="write a report: .json or .html; may be given more than once",
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 where something has no counterpart")
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="processes that write the folder; by default one for each core"
    )


def port(options: argparse.Namespace) -> int:
    """Port; returns the exit code."""
    from torchada.porting import PortingError, port_tree

    check_reports(options, _SUFFIXES)
    _check_output(options)
    try:
        if _names_file(options):
            tree = _port_file(options)
        else:
            announce = None if options.verbosity < 0 else partial(_announce, options.output)
            tree = port_tree(
                options.sources, options.output, processes=options.jobs, force=options.force, announce=announce
            )
        if options.diff:
            _print_diff(port_tree(options.sources, None, keep_texts=True))
        for file in options.report:
            _write_report(tree, options.sources, Path(file))
    except BrokenPipeError:
        raise  # whoever reads has read enough
    except (PortingError, OSError) as error:
        print(f"torchada port: {error}", file=sys.stderr)
        return 2
    if options.verbosity >= 0:
        _print_summary(tree, options)
    return 1 if options.check and tree.unported else 0


def _check_output(options: argparse.Namespace) -> None:
    """Exit with the usage where the output could not be written; of a file say that it will be, before it begins."""
    if options.output is None:
        return
    folder = os.path.dirname(os.path.abspath(options.output))
    if not os.path.isdir(folder):
        options.parser.error(f"--output {options.output}: there is no folder {folder}")
    if _names_file(options) and os.path.exists(options.output) and not options.force:
        options.parser.error(f"--output {options.output}: this file exists; --force replaces it")
    if options.verbosity >= 0 and _names_file(options):
        print(f"torchada port: writes the file {options.output}", file=sys.stderr)


def _announce(output: str, plan: Plan) -> None:
    from torchada.report.text import counted

    copied = f", {counted(plan.copies, 'file')} copied" if plan.copies else ""
    text = f"torchada port: writes the folder {output}: {counted(plan.sources, 'source')} ported{copied}"
    print(text, file=sys.stderr, flush=True)


def _names_file(options: argparse.Namespace) -> bool:
    """Whether --output names a file: one source is given, and the name has the suffix of a source."""
    from torchada.porting.scan import SOURCES

    given, output = options.sources, options.output or ""
    is_one = len(given) == 1 and os.path.isfile(given[0])
    return is_one and os.path.splitext(output)[1] in SOURCES and not os.path.isdir(output)


def _port_file(options: argparse.Namespace) -> Any:
    """Port one source into a file of the name that was given."""
    from torchada.porting import port_tree

    tree = port_tree(options.sources, None, keep_texts=True)
    (texts,) = tree.texts.values() or [(Path(options.sources[0]).read_bytes(),) * 2]
    write_bytes_whole(options.output, texts[1])
    return tree


def _print_summary(tree: Any, options: argparse.Namespace) -> None:
    from torchada.porting.report import MOST_NAMES, as_text

    text = as_text(tree, None if options.verbosity > 0 else MOST_NAMES)
    print(text, file=sys.stderr if options.diff else sys.stdout)


def _print_diff(tree: Any) -> None:
    """Print the bytes unchanged: the diff of a latin-1 source is latin-1."""
    from torchada.porting.diff import unified

    targets = {file.path: file.target for file in tree.files}
    for path, (before, after) in sorted(tree.texts.items()):
        lines = unified(before, after, os.fsencode(f"a/{path}"), os.fsencode(f"b/{targets[path]}"))
        sys.stdout.buffer.writelines(lines)
    sys.stdout.flush()


def _write_report(tree: Any, sources: list[str], target: Path) -> None:
    """Write one report, whole or not at all."""
    from torchada.porting.page import as_html
    from torchada.porting.report import as_json

    text = (as_html if target.suffix == ".html" else as_json)(tree, sources)
    try:
        write_whole(str(target), text)
    except OSError as error:
        raise OSError(f"--report {target}: {error.strerror}") from error


COMMAND = Command(
    summary="port CUDA sources to MUSA, into a folder of their own",
    description="Port CUDA sources to MUSA, into a folder of their own. Without --output no source is written. "
    "Exit code 0: done; 1: --check found something unported; 2: it failed.",
    quiet="print no summary",
    verbose="list every name that has no counterpart or should be looked at, not the most frequent alone",
    arguments=arguments,
    act=port,
)
