"""`python -m outside cases FOLDER`: each program's verdict, and how they differ from the list of what is known to fail."""

from __future__ import annotations

import json
import os
import shutil
import sysconfig
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from outside import bounded, scoring
from outside.cases.table import Case, read, top
from outside.running import Verdict
from outside.suites import HERE

NAME = "cases"
KEPT = HERE / "kept" / f"{NAME}.toml"
KINDS = ("right", "wrong", "refused", "time-out", "not run")
_OURS = ("TORCHADA_", "MUSASIM_", "MUSA_", "CUDA_", "OUTSIDE_")
# With it, print writes words one by one, and those of two ranks mix.
_UNBUFFERED = "PYTHONUNBUFFERED"


def run(
    folder: Path,
    results: Path,
    seconds: float,
    release: str,
    mechanism: str,
    only: str = "",
    table: Sequence[Case] | None = None,
    kept: Path = KEPT,
) -> int:
    """Run what has no verdict in `results` yet; 1 if something fails that is not on the list, or otherwise than the list says."""
    results.mkdir(parents=True, exist_ok=True)
    cases = [case for case in (read(folder) if table is None else table) if only in case.name]
    if not cases:
        raise SystemExit(f"--only {only}: no program of {folder} has this in its path")
    folder = top(folder) if table is None else folder
    verdicts = []
    for case in cases:
        verdicts.append(_verdict(case, folder, results, seconds, release, mechanism))
        print(f"{case.name}: {said(verdicts[-1])}", flush=True)
    made = scoring.score(verdicts, scoring.read(kept, _torch(), release))
    report = _report(verdicts)
    (results / "score.md").write_text(report, encoding="utf-8")
    print(f"\n{counts(verdicts)}")
    for verdict in made.new:
        print(f"not on the list: {verdict.test}: {verdict.error}")
    for row in made.gone:
        print(f"on the list, but does not fail (that way): {row.tests}: {row.why}")
    return 1 if made.new or made.gone or not any(each.verdict != "skipped" for each in verdicts) else 0


def said(verdict: Verdict) -> str:
    """The verdict in words: its kind, and why it is not right."""
    if verdict.verdict == "passed":
        return "right"
    return f"not run: {verdict.error}" if verdict.verdict == "skipped" else verdict.error


def counts(verdicts: Iterable[Verdict]) -> str:
    """How many programs there are of each kind."""
    found = Counter(said(verdict).partition(":")[0] for verdict in verdicts)
    return ", ".join(f"{found[kind]} {kind}" for kind in KINDS)


def _report(verdicts: Sequence[Verdict]) -> str:
    rows = (f"| {each.test} | {said(each).replace('|', '/')} |" for each in verdicts)
    return "\n".join(["| program | verdict |", "|---|---|", *rows, "", counts(verdicts), ""])


def _verdict(case: Case, folder: Path, results: Path, seconds: float, release: str, mechanism: str) -> Verdict:
    """Judged anew in each run by what the program printed, which `results` keeps: a row of the table may have been corrected."""
    why = case.missing(release)
    if why:
        return Verdict(case.name, "skipped", why)
    record = results / f"{case.name.replace('/', '__')}.json"
    if not record.exists():
        code, output = _ran(case, folder, record.with_suffix(".work"), seconds, release, mechanism)
        record.write_text(json.dumps({"code": code, "output": output}, indent=1), encoding="utf-8")
    found = json.loads(record.read_text(encoding="utf-8"))
    error = case.verdict(found["code"], found["output"])
    return Verdict(case.name, "failed" if error else "passed", error)


def _ran(case: Case, folder: Path, work: Path, seconds: float, release: str, mechanism: str) -> tuple[int | None, str]:
    """The exit status, None where the time was over, and what was printed. A copy of the program is run in an empty folder."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "program").mkdir(parents=True)
    (work / "here").mkdir()
    command = case.command(case.copy(folder, work / "program"))
    # PyTorch waits for ever for a lock that a killed process has left in its folder of extensions.
    env = {**environment(case, release, mechanism), "TORCH_EXTENSIONS_DIR": str(work / "extensions")}
    code, output = bounded.run(command, work / "here", env, seconds)
    written = [work / "here" / name for name in case.shows if (work / "here" / name).is_file()]
    output += "".join(path.read_text(encoding="utf-8", errors="replace") for path in written)
    shutil.rmtree(work, ignore_errors=True)
    return code, output


def environment(case: Case, release: str, mechanism: str) -> dict[str, str]:
    """That of a user on a machine with two simulated GPUs, who has this Python's commands."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith((*_OURS, _UNBUFFERED))}
    commands = os.pathsep.join([sysconfig.get_path("scripts"), clean.get("PATH", os.defpath)])
    chosen = {"TORCHADA_NATIVE": str(int(mechanism == "native")), **({"MUSASIM_RELEASE": release} if release else {})}
    simulated = {"TORCHADA_SIMULATE": "1", "MUSASIM_DEVICE_COUNT": "2", "OMP_NUM_THREADS": "1", "PATH": commands}
    made = {**clean, **simulated, **chosen, **case.env}
    return {name: value for name, value in made.items() if value}


def _torch() -> str:
    from importlib.metadata import version

    return version("torch")
