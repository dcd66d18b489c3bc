"""Its command line."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from torchada.tools.nvidia_smi import fields
from torchada.tools.nvidia_smi.devices import NoFigures, report, run, value, visible


def main(arguments: Sequence[str]) -> int:
    """Return the exit status: 0, 2 for what this command does not answer, 9 where the vendor's command has no figures."""
    options = _parser().parse_args(arguments)
    try:
        print(_answer(options))
    except NoFigures as error:
        print(f"nvidia-smi: {error}", file=sys.stderr)
        return 9  # as where NVIDIA's driver is not loaded
    except ValueError as error:
        print(error)
        return 2
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        "nvidia-smi",
        description="torchada's nvidia-smi: what programs parse, with the figures of the vendor's command. Processes, limits and "
        "settings are not answered.",
        allow_abbrev=False,
    )
    parser.add_argument("--query-gpu", metavar="FIELDS", help="names of fields, with commas between them")
    parser.add_argument("--format", metavar="FORMAT", help="csv, noheader, nounits, with commas between them")
    parser.add_argument("-L", "--list-gpus", action="store_true", help="a line for each device")
    parser.add_argument("-i", "--id", metavar="DEVICE", help="of these devices alone")
    return parser


def _answer(options: Namespace) -> str:
    if options.query_gpu is not None:
        return _query(options)
    if options.list_gpus:
        devices = visible(report()["GPU"], options.id)
        return "\n".join(
            f"GPU {value(d, 'Index')}: {value(d, 'Product Name')} (UUID: {value(d, 'GPU UUID')})" for d in devices
        )
    return run(*(["-i", options.id] if options.id else [])).rstrip("\n")


def _query(options: Namespace) -> str:
    names = [name.strip() for name in options.query_gpu.split(",")]
    for name in names:
        if name not in fields.FIELDS:
            raise ValueError(f'Field "{name}" is not a valid field to query.\n')
    how = [word.strip() for word in (options.format or "").split(",")]
    if "csv" not in how or not {*how} <= {"csv", "noheader", "nounits"}:
        raise ValueError('"--format=" switch is missing: expected csv, with noheader and nounits as further words.')
    known = report()
    lines = [] if "noheader" in how else [", ".join(map(fields.header, names))]
    for device in visible(known["GPU"], options.id):
        lines.append(", ".join(fields.shown(name, known, device, units="nounits" not in how) for name in names))
    return "\n".join(lines)
