"""What torchada adds to the start of every interpreter and to `import torch`.

The latter is measured on a machine without an accelerator, and on a MUSA machine, where it is compared with
`import torch, torch_musa` (the simulator's, where there is no real torch_musa).

Virtual environments are made from a built wheel, as users have them: one without any start-up file, one with setuptools' (the
distutils-precedence.pth that most environments have had for years), one with torchada's, the latter two with and without their
.pyc. Their interpreters are started in turn, round after round. A difference is the median of the differences within a
round, with the 95 % confidence interval of that median.

    python benchmarks/startup.py [--rounds N] [--torch-rounds N] [--only musa] [--save]
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import record

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    *(
        "LICENSE",
        "MANIFEST.in",
        "README.md",
        "pyproject.toml",
        "scripts/build_backend",
        "setup.py",
        "sitecustomize",
        "src",
    ),
)
BARE = "no start-up file"
# Nothing may create .pyc files meanwhile, or steer the interpreters from outside.
ENVIRONMENT = {
    **{
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TORCHADA_", "VIRTUAL_ENV"))
    },
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass(frozen=True)
class Start:
    """One interpreter, from its creation to its end, in milliseconds."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Program:
    """What an interpreter runs, and with which variables."""

    python: Path
    code: str
    variables: Mapping[str, str] = field(default_factory=dict)


def start(program: Program) -> Start:
    """Run a program in a fresh interpreter, with the operating system's account of the finished process."""
    python, code = program.python, program.code
    began = time.perf_counter()
    process = subprocess.Popen([python, "-c", code], env={**ENVIRONMENT, **program.variables}, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{python} -c {code!r} ended with {process.returncode}")
    return Start((usage.ru_utime + usage.ru_stime) * 1000, wall * 1000)


Starts = dict[str, list[Start]]


def alternate(programs: Mapping[str, Program], rounds: int) -> Starts:
    """`rounds` starts of each, in turn, forwards and backwards; the first round is discarded."""
    starts: Starts = {name: [] for name in programs}
    for turn in range(rounds + 1):
        for name in list(programs)[:: 1 if turn % 2 else -1]:
            starts[name].append(start(programs[name]))
    return {name: values[1:] for name, values in starts.items()}


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median and, by order statistics, its 95 % confidence interval."""
    ordered = sorted(values)
    reach = int(0.98 * math.sqrt(len(ordered)))
    middle = len(ordered) // 2
    return median(ordered), ordered[max(0, middle - reach)], ordered[min(len(ordered) - 1, middle + reach)]


def differences(starts: Starts, kind: str) -> dict[str, list[float]]:
    """Every environment's milliseconds beyond those of the first, round by round."""
    base, *others = starts
    return {name: [getattr(a, kind) - getattr(b, kind) for a, b in zip(starts[name], starts[base])] for name in others}


class Lab:
    """A folder with the environments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheel = self._build_wheel()

    def _build_wheel(self) -> Path:
        source = self.folder / "source"
        source.mkdir()
        for name in SOURCES:
            _copy(ROOT / name, source / name)
        _pip("wheel", "--no-deps", "--wheel-dir", str(self.folder), str(source))
        (wheel,) = self.folder.glob("torchada-*.whl")
        return wheel

    def environment(self, name: str, *packages: str | Path, compiled: bool = True, paths: Sequence[str] = ()) -> Path:
        """A virtual environment with `packages`, and `paths` behind its own on sys.path; returns its interpreter."""
        folder = self.folder / name
        venv.create(folder, symlinks=True)
        library = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
        if packages:
            compile_option = "--compile" if compiled else "--no-compile"
            _pip("install", "--no-deps", compile_option, "--target", str(library), *map(str, packages))
        if paths:
            (library / "more-paths.pth").write_text("\n".join(paths) + "\n")
        return folder / "bin" / "python"


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    elif source.exists():
        shutil.copy(source, target)


def _pip(command: str, *arguments: str) -> None:
    options = ["--quiet", "--disable-pip-version-check"]
    done = subprocess.run([sys.executable, "-m", "pip", command, *options, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"pip {command} failed: {done.stderr.strip()}")


@contextmanager
def lab() -> Iterator[Lab]:
    with tempfile.TemporaryDirectory() as folder:
        yield Lab(Path(folder))


def interpreter_start(place: Lab, rounds: int) -> Starts:
    """`python -c pass`."""
    pythons = {
        BARE: place.environment("bare"),
        "setuptools": place.environment("setuptools", "setuptools"),
        "setuptools, no .pyc": place.environment("setuptools-source", "setuptools", compiled=False),
        "torchada": place.environment("torchada", place.wheel),
        "torchada, no .pyc": place.environment("torchada-source", place.wheel, compiled=False),
    }
    return alternate({name: Program(python, "pass") for name, python in pythons.items()}, rounds)


def import_of_torch(place: Lab, rounds: int) -> Starts:
    """`import torch`, this interpreter's own torch, where there is no accelerator."""
    paths = [_folder_of("torch"), _folder_of("wrapt")]
    pythons = {
        "without torchada": place.environment("torch-bare", paths=paths),
        "with torchada": place.environment("torch-torchada", place.wheel, paths=paths),
    }
    return alternate({name: Program(python, "import torch") for name, python in pythons.items()}, rounds)


def import_of_nothing(place: Lab, rounds: int) -> Starts:
    """`import torch` where torch is an empty package: it shows torchada's own part, which the noise of a real torch would hide."""
    stub = place.folder / "stub"
    (stub / "torch").mkdir(parents=True)
    (stub / "torch" / "__init__.py").touch()
    paths = [str(stub), _folder_of("wrapt")]
    pythons = {
        "without torchada": place.environment("stub-bare", paths=paths),
        "with torchada": place.environment("stub-torchada", place.wheel, paths=paths),
    }
    return alternate({name: Program(python, "import torch") for name, python in pythons.items()}, rounds)


def import_on_musa(place: Lab, rounds: int) -> Starts:
    """`import torch` with a MUSA device, under both mechanisms, and, without torchada, the two imports that it replaces."""
    python = place.environment("musa", place.wheel, paths=[_folder_of("torch"), _folder_of("wrapt")])
    simulator = "" if find_spec("torch_musa") else "import musasim; musasim.install(); "
    simulate = {"TORCHADA_SIMULATE": "1"} if simulator else {}
    programs = {
        "torch, torch_musa": Program(python, f"{simulator}import torch, torch_musa", {"TORCHADA_DISABLE": "1"}),
        "torchada": Program(python, "import torch", simulate),
        "torchada, portable": Program(python, "import torch", {**simulate, "TORCHADA_NATIVE": "0"}),
    }
    return alternate(programs, rounds)


def _folder_of(module: str) -> str:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{module} is not installed here")
    return str(Path(spec.origin).parent.parent)


def report(title: str, starts: Starts) -> dict[str, object]:
    """Print one comparison; returns it as data."""
    base = next(iter(starts))
    print(f"\n{title}\n{'':24}{'CPU ms':>10}{'more than ' + base + ', CPU ms':>44}{'wall ms':>12}{'more, wall ms':>28}")
    for name, values in starts.items():
        cpu, wall = (median(getattr(value, kind) for value in values) for kind in ("cpu", "wall"))
        more = {kind: _more(starts, kind, name) for kind in ("cpu", "wall")}
        print(f"{name:24}{cpu:10.2f}{more['cpu']:>44}{wall:12.2f}{more['wall']:>28}")
    return {kind: _as_data(starts, kind) for kind in ("cpu", "wall")}


def _more(starts: Starts, kind: str, name: str) -> str:
    values = differences(starts, kind).get(name)
    return "" if values is None else "{:+.3f} [{:+.3f}, {:+.3f}]".format(*interval(values))


def _as_data(starts: Starts, kind: str) -> dict[str, object]:
    base = next(iter(starts))
    more = {name: [round(value, 4) for value in interval(values)] for name, values in differences(starts, kind).items()}
    return {base: round(median(getattr(value, kind) for value in starts[base]), 4), "more": more}


def against_setuptools(starts: Starts) -> str:
    """The cost of our start-up file divided by that of setuptools'."""
    more = {name: median(values) for name, values in differences(starts, "cpu").items()}
    pairs = (("torchada", "setuptools"), ("torchada, no .pyc", "setuptools, no .pyc"))
    ratios = [f"{ours} / {theirs}: {more[ours] / more[theirs]:.2f}" for ours, theirs in pairs]
    return "cost in CPU time, " + "; ".join(ratios)


def without_accelerator(place: Lab, rounds: int, torch_rounds: int) -> dict[str, object]:
    """The cost for users who have torchada installed and do not use it."""
    starts = interpreter_start(place, rounds)
    costs: dict[str, object] = {"interpreter": report("start of the interpreter", starts)}
    print(against_setuptools(starts))
    nothing = import_of_nothing(place, rounds)
    costs["import of an empty torch"] = report("import torch, an empty package", nothing)
    costs["import of torch"] = report("import torch", import_of_torch(place, torch_rounds))
    return costs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="starts of each interpreter (default 200)")
    parser.add_argument("--torch-rounds", type=int, default=20, help="imports of torch on either side (default 20)")
    parser.add_argument("--only", choices=("musa",), help="measure nothing but the import on a MUSA machine")
    parser.add_argument("--save", action="store_true", help=f"append the results to {record.HISTORY.name}")
    options = parser.parse_args()
    record.stay_on_one_core()
    try:
        with lab() as place:
            costs = {} if options.only else without_accelerator(place, options.rounds, options.torch_rounds)
            musa = import_on_musa(place, options.torch_rounds)
            costs["import of torch on MUSA"] = report("import torch on a MUSA machine", musa)
            version = place.wheel.name.split("-")[1]
    except RuntimeError as error:
        print(f"startup.py: {error}", file=sys.stderr)
        return 1
    if options.save:
        record.append("startup", {"python": sys.version.split()[0], "torchada": version}, costs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
