"""The tests of the core suites on another platform: the same files, in which the platform's names stand for musa's.

A copy of the tests is made, with `musa` replaced by the platform's name for it in each, and run in a process of its own.
What does not apply to a platform is listed in core_suites.toml, with the reason; such a test has to fail there, so that the list
does not outlive what it says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support import vendor_python
from support.interpreter import ROOT, clean_environment
from support.platforms import ENVIRONMENT, VARIABLE, WORDS

TESTS = ROOT / "tests"
SUITES = {
    "device strings": ("areas/tensors/test_device.py", "areas/tensors/test_device_views.py"),
    "tensors": ("areas/tensors/test_factories.py", "areas/tensors/test_methods.py"),
    "modules": ("areas/tensors/test_modules.py",),
    "amp": ("areas/precision/test_amp.py",),
    "load and save": ("areas/tensors/test_serialization.py",),
    "generators": ("areas/tensors/test_random.py",),
    "streams": ("areas/cuda/test_streams.py",),
    "torch.cuda": ("areas/cuda/test_devices.py", "areas/cuda/test_names.py", "areas/cuda/test_available.py"),
    "operators": ("areas/dispatch/test_library.py",),
    "distributed": ("areas/distributed/test_groups.py", "areas/distributed/test_ranks.py"),
}
_SHARED = ("conftest.py", "areas/conftest.py", "areas/distributed/conftest.py")


@dataclass
class Result:
    """What one suite did on one platform: tests that passed, that failed as listed, and that did neither."""

    passed: int = 0
    skipped: int = 0
    not_applicable: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)


def exceptions(platform: str) -> dict[str, str]:
    """The tests that do not apply to a platform, "file::test" without parameters, and why."""
    return {test: entry["why"] for entry in _listed(platform) for test in entry["tests"]}


def _listed(platform: str) -> list[dict[str, Any]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    text = (Path(__file__).parent / "core_suites.toml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text).get(platform, [])
    return entries


def translated(text: str, platform: str) -> str:
    """`text`, about musa, in the names of another platform."""
    words = WORDS[platform]
    if not words:
        return text
    known = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    # The simulator keeps its own name.
    return re.sub(rf"musasim|MUSASIM|{known}", lambda found: words.get(found[0], found[0]), text)


def copy(platform: str, folder: Path, suites: Mapping[str, tuple[str, ...]]) -> None:
    """Write the tests of `suites` to `folder`, in the names of `platform`."""
    shutil.copytree(TESTS / "support", folder / "support", ignore=shutil.ignore_patterns("__pycache__"))
    helpers = [folder / "support" / "distributed_checks.py"]
    for name in (*_SHARED, *(file for files in suites.values() for file in files)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TESTS / name, folder / name)
        helpers.append(folder / name)
    for path in helpers:
        path.write_text(translated(path.read_text(encoding="utf-8"), platform), encoding="utf-8")


def run(platform: str, folder: Path, names: tuple[str, ...] = ()) -> dict[str, Result]:
    """Run the suites, or those that are named, on `platform`. `folder` has to be empty; the copies are left there."""
    suites = {name: SUITES[name] for name in names or SUITES}
    copy(platform, folder, suites)
    files = [str(folder / file) for each in suites.values() for file in each]
    report = folder / "report.xml"
    call = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    call += [
        "-c",
        str(ROOT / "pyproject.toml"),
        f"--override-ini=pythonpath={folder} {ROOT}",
        "-o",
        "console_output_style=count",
    ]
    environment = {**clean_environment(), **ENVIRONMENT[platform], VARIABLE: platform}
    if platform == "host":
        environment["CUDA_VISIBLE_DEVICES"] = "0,1"  # the tests use two devices
        environment["CHECKS_LEFT_OUT"] = (
            "fully_sharded,fully_shard_each,tensor_parallel,scaled_sums,messages,parallel_contexts,"
            "parallel_context_of_a_module"  # as core_suites.toml says
        )
        # The tests themselves mention torchada and other platforms.
        environment["TORCHADA_CUDA_VIEW"] = "areas,support,distributed_checks,__main__"
    if "TORCHADA_NATIVE" in os.environ:
        environment["TORCHADA_NATIVE"] = os.environ["TORCHADA_NATIVE"]
    done = subprocess.run(
        [*call, f"--junitxml={report}", *files],
        cwd=folder,
        env=vendor_python.completed(environment),
        capture_output=True,
        text=True,
    )
    (folder / "output.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    if not report.exists():
        raise RuntimeError(f"the tests on {platform} did not run:\n{done.stdout}{done.stderr}")
    by_chance = {test for entry in _listed(platform) if entry.get("may_pass") for test in entry["tests"]}
    return _read(report, suites, exceptions(platform), by_chance)


def _read(
    report: Path, suites: Mapping[str, tuple[str, ...]], listed: Mapping[str, str], by_chance: Set[str]
) -> dict[str, Result]:
    """A test in `listed` has to fail, unless it is in `by_chance`, too: then it does not apply, however it ends."""
    results = {name: Result() for name in suites}
    needed = set(by_chance)
    of_test: dict[str, Result] = {}
    suite_of = {file: name for name, files in suites.items() for file in files}
    for case in ElementTree.parse(report).iter("testcase"):
        file = f"{case.get('classname', '').replace('.', '/')}.py"
        result = results[suite_of[file]]
        name = f"{file.removeprefix('areas/')}::{case.get('name')}"
        problem = next((each for each in case if each.tag in ("failure", "error")), None)
        listed_as = name.partition("[")[0]
        of_test.setdefault(listed_as, result)
        if listed_as in by_chance or (problem is not None and listed_as in listed):
            result.not_applicable.append(name)
            needed.add(listed_as)
        elif problem is not None:
            result.failed[name] = (problem.text or problem.get("message") or "")[-3000:]
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1
    for name in listed.keys() & of_test.keys() - needed:
        of_test[name].stale.append(name)
    return results


def _last_words(failure: str) -> str:
    """The line of pytest's report that says what was wrong."""
    said = [line for line in failure.strip().splitlines() if line.startswith("E ")]
    return said[0][1:].strip()[:200] if said else failure.strip()[-200:]


def main(arguments: list[str]) -> int:
    """`python -m support.core_suites PLATFORM FOLDER [SUITE ...]`."""
    platform, folder, *names = arguments
    results = run(platform, Path(folder).resolve(), tuple(names))
    for name, result in results.items():
        print(f"{name}: {result.passed} passed, {len(result.not_applicable)} do not apply, {len(result.failed)} failed")
        for test, why in result.failed.items():
            print(f"  {test}: {_last_words(why)}")
        for test in result.stale:
            print(f"  {test} passes, but is listed")
    return int(any(result.failed or result.stale for result in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
