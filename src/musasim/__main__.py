"""The simulator: compile, pack, inspect or remove its compiled part, make its toolkit, see which lines of kernels have run."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from musasim import coverage, packed
from musasim.base import cache, release, settings
from musasim.base.toolchain import find_torch
from musasim.build import MusasimBuildError, Target, build, build_all
from musasim.toolkit import home


def _build(_: argparse.Namespace) -> int:
    print(build())
    return 0


def _toolkit(_: argparse.Namespace) -> int:
    print(home())
    return 0


def _key(_: argparse.Namespace) -> int:
    print(Target(find_torch()).folder)
    return 0


def _pack(options: argparse.Namespace) -> int:
    build_all()
    print(f"{packed.pack(Target(find_torch()).entries, options.file)}  {options.file}")
    return 0


def _unpack(options: argparse.Namespace) -> int:
    target = Target(find_torch())
    packed.unpack(options.file, options.sha256, target.entries)
    print(target.path)
    return 0


def _info(_: argparse.Namespace) -> int:
    print(f"cache folder:       {cache.cache_path()}")
    _describe_torch()
    print(f"devices:            {os.environ.get('MUSASIM_DEVICE_COUNT') or 2}")
    print(f"visible devices:    {os.environ.get('MUSA_VISIBLE_DEVICES', 'all')}")
    print(f"memory per device:  {os.environ.get('MUSASIM_MEMORY_BYTES') or 16 << 30} bytes")
    print(f"graph executables:  {os.environ.get('MUSASIM_GRAPH_EXECUTABLES') or 2048}")
    _describe_variables()
    return 0


def _describe_variables() -> None:
    """Each variable that the simulator reads, because any of them may be why two runs differ."""
    for name in settings.KINDS:
        print(f"{name}={os.environ.get(name) or '(not set)'}")


def _describe_torch() -> None:
    try:
        target = Target(find_torch())
    except MusasimBuildError as error:
        print(f"torch:              {error}")
        return
    print(f"torch:              {target.torch.version} ({target.torch.folder})")
    print(f"torch_musa:         {release.asked() or release.belonging_to(target.torch.version)}")
    print(f"built:              {target.path if target.path.exists() else 'no'}")


def _clean(_: argparse.Namespace) -> int:
    print(f"removed {cache.clean()} build(s) from {cache.cache_path()}")
    return 0


def _coverage(options: argparse.Namespace) -> int:
    root = Path.cwd()
    files = coverage.counts(options.folder, root)
    for line in coverage.table(files):
        print(line)
    if options.output:
        options.output.write_text(coverage.tracefile(files, root), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m musasim", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, action, text in (
        ("build", _build, "compile for the installed torch, unless that has been done already"),
        ("toolkit", _toolkit, "make the simulated MUSA_HOME, unless it exists, and print its path"),
        ("key", _key, "print what changes when it has to be compiled again, as a key for a cache in CI"),
        (
            "info",
            _info,
            "show the cache, the torch found, the simulated hardware, and each variable that the simulator reads",
        ),
        ("clean", _clean, "remove everything that was compiled"),
    ):
        commands.add_parser(name, help=text, description=text).set_defaults(action=action)
    text = "write what was compiled into a file for other machines with this torch, and print its SHA-256"
    pack = commands.add_parser("pack", help=text, description=text)
    pack.set_defaults(action=_pack)
    pack.add_argument("file", type=Path, help="the archive to be written, as in musasim.tar.gz")
    text = "take what `pack` has written in the place of compiling"
    unpack = commands.add_parser("unpack", help=text, description=text)
    unpack.set_defaults(action=_unpack)
    unpack.add_argument("file", type=Path, help="the archive")
    unpack.add_argument("sha256", help="its SHA-256, as `pack` has printed it: what is unpacked will be executed")
    text = "show which lines of kernels below the current folder have run"
    lines = commands.add_parser("coverage", help=text, description=text)
    lines.set_defaults(action=_coverage)
    lines.add_argument("folder", type=Path, help="what MUSASIM_COVERAGE named when the kernels were built")
    lines.add_argument("-o", "--output", type=Path, metavar="FILE", help="write a tracefile of lcov (.info)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Return the exit status: 0 for success, 1 for failure (the reason is on stderr), 2 for wrong usage."""
    options = _parser().parse_args(arguments)
    if wrong := settings.problems():
        print("\n".join(wrong), file=sys.stderr)
        return 1
    try:
        status: int = options.action(options)
    except MusasimBuildError as error:
        print(error, file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
