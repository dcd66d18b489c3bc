"""`python -m outside.projects [NAME ...] [options]`, from the folder `tests`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from outside.projects import building, memcheck, table, testing


def main() -> int:
    """Build and test each project; 1 if a figure is not that of the table, or a source has changed."""
    options = _parse()
    rows, well = table.read(), True
    unknown = [name for name in options.names if name not in rows]
    if unknown:
        raise SystemExit(f"no such project: {', '.join(unknown)}; the table has {', '.join(rows)}")
    print(f"sources, builds and results are in {options.work}", flush=True)
    for name in options.names or rows:
        well &= _run(rows[name].checked() if options.memcheck else rows[name], options)
    return 0 if well else 1


def _run(project: table.Project, options: argparse.Namespace) -> bool:
    folder, log = options.work / project.name, options.work / f"{project.name}.build.log"
    building.unpack(project, options.mirror, folder)
    record = options.work / f"{project.name}.json"
    found = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    if options.only != "test":
        built = building.build(project, folder, log)
        found["built"] = asdict(built)
    if options.only != "build" and not found["built"]["code"]:
        log = options.work / f"{project.name}.test.log"
        found["tested"] = asdict(testing.test(project, folder, log, options.seconds))
        found["faults"] = memcheck.read(log, folder)
    record.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return _report(project, found, options)


def _report(project: table.Project, found: dict[str, Any], options: argparse.Namespace) -> bool:
    """Print a row, and say whether it is as the table has it."""
    built, tested, expected = found["built"], found.get("tested"), project.expected
    changed = built["changed"]
    text = f"| {project.name} | {built['seconds']:.0f} s | {built['sources']} files, {len(changed) or 'none'} changed |"
    if built["code"]:
        print(f"{text} stops: {built['stops']} |", flush=True)
        return bool(expected.stops) and expected.stops in built["stops"] and not changed
    if tested is None or options.only == "build":
        print(f"{text} built |", flush=True)
        return not changed
    print(f"{text} {tested['passed']} passed, {tested['failed']} failed, {tested['skipped']} skipped |", flush=True)
    for failure in tested["failures"]:
        print(f"    {failure}", flush=True)
    same = testing.Tested(**tested).is_as(expected)
    if not same:
        print(f"    expected: {expected.passed} passed, {expected.failed} failed, {expected.skipped} skipped")
    return same and not changed and (not options.memcheck or _report_faults(project, found["faults"]))


def _report_faults(project: table.Project, faults: Sequence[str]) -> bool:
    """Print what was found in the kernels, and say whether it is as the table has it."""
    print(f"    accesses to memory: {len(faults) or 'no'} faults", flush=True)
    for fault in faults:
        print(f"    {fault}", flush=True)
    same = project.faults is not None and list(faults) == sorted(project.faults)
    if not same:
        print(f"    expected: {'not known' if project.faults is None else sorted(project.faults)}")
    return same


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m outside.projects", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows of table.toml; all, if none is named")
    parser.add_argument("--mirror", type=Path, help="git repositories at hand, as OWNER+NAME/repo or OWNER/NAME")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "torchada-projects")
    parser.add_argument("--only", choices=("build", "test"), default="", help="do only this")
    parser.add_argument(
        "--memcheck", action="store_true", help="build and test in a folder apart with MUSASIM_MEMCHECK=1"
    )
    parser.add_argument("--seconds", type=float, default=1800, help="the longest time that tests may take")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    return options


if __name__ == "__main__":
    sys.exit(main())
