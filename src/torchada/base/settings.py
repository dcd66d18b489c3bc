"""Every TORCHADA_ environment variable: its name, its values and its meaning. The only place that reads them.

There are two exceptions. The start-up function reads three flags for itself, because it may import nothing, not even this; and the
fast path behind it (hooks/importer.py) asks whether any of them is set, so that this is not loaded where none is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from torchada.base.warnings import warn_once

PREFIX = "TORCHADA_"
# What a flag may be, in small letters. Start-up knows ON as well.
ON = ("1", "true", "yes", "on")
OFF = ("", "0", "false", "no", "off")


class Variable(NamedTuple):
    """One environment variable.

    `kind` is "flag", "choice", "number", "name", "list", "packages", "path", "version" or "internal".
    """

    name: str
    kind: str
    meaning: str
    choices: tuple[str, ...] = ()


VARIABLES = (
    Variable("TORCHADA_DISABLE", "flag", "leave the process as if torchada were not installed"),
    Variable(
        "TORCHADA_PLATFORM",
        "name",
        "musa, npu, mlu, host, xpu, mps, cuda, cpu, the name of an installed backend, or auto (the default)",
    ),
    Variable(
        "TORCHADA_SIMULATE", "flag", "let `import torch_musa` find the simulator where no real torch_musa is installed"
    ),
    Variable(
        "TORCHADA_VIEW",
        "choice",
        "what code sees of the device: each package by what it knows (caller, the default), all code cuda, or all code musa",
        ("caller", "cuda", "musa"),
    ),
    Variable("TORCHADA_CUDA_VIEW", "packages", "packages that see CUDA, separated by commas"),
    Variable("TORCHADA_MUSA_VIEW", "packages", "packages that see MUSA, separated by commas"),
    Variable(
        "TORCHADA_FORCE_CUDA_AVAILABLE",
        "flag",
        "torch.cuda.is_available() is True for all code, PyTorch's own included",
    ),
    Variable("TORCHADA_CUDA_CAPABILITY", "version", "the compute capability that code which sees CUDA gets, as in 8.0"),
    Variable("TORCHADA_STRICT", "flag", "raise where torchada would warn and go on"),
    Variable(
        "TORCHADA_NATIVE",
        "choice",
        "device strings by the native (1) or the portable (0) mechanism",
        ("0", "1", "auto"),
    ),
    Variable("TORCHADA_SKIP_AREAS", "list", "areas to leave alone, separated by commas"),
    Variable(
        "TORCHADA_ALL_DTYPES",
        "flag",
        "convolutions, normalisations, dropout and a few other operators in data types that the backend refuses",
    ),
    Variable("TORCHADA_CUDA_GRAPH_DEBUG_DUMP_PATH", "path", "folder that gets a file for each graph that is captured"),
    Variable(
        "TORCHADA_GRAPH_ROTATION",
        "flag",
        "0: never give up the executable of a graph, so that the driver's limit of their number holds",
    ),
    Variable(
        "TORCHADA_VENDOR_PRECISION",
        "flag",
        "start with the vendor's precision of matrix products, TF32, and not CUDA's",
    ),
    Variable("TORCHADA_GRAPH_EXEC_CAP", "number", "how many executables of graphs a process keeps at a time"),
    Variable(
        "TORCHADA_GRAPH_AUTOPROBE", "flag", "find the driver's limit of executables by a trial in another process"
    ),
    Variable("TORCHADA_GRAPH_EXEC_MARGIN", "number", "how far below a limit that was found by a trial to stay"),
    Variable(
        "TORCHADA_LOG",
        "choice",
        "report on stderr which APIs of CUDA are used: each place when it is first met (calls), or a table at exit (summary)",
        ("calls", "summary"),
    ),
    Variable(
        "TORCHADA_REPORT", "internal", "the files of `torchada run --report`, to which every process adds its part"
    ),
    Variable("TORCHADA_ENABLE_CPP_OPS", "flag", "override operators of PyTorch by kernels in C++, compiled once"),
    Variable("TORCHADA_CPP_OPS_PATH", "path", "folders with more overrides of operators, separated by colons"),
    Variable(
        "TORCHADA_CPP_OPS_VERBOSE", "flag", "show how overrides of operators are compiled, and which are in force"
    ),
    Variable("TORCHADA_DEBUG_CPP_OPS", "flag", "a line on stderr for each call of an operator that is overridden"),
    Variable("TORCHADA_CACHE_DIR", "path", "the folder that what torchada compiles is kept in"),
    Variable("TORCHADA_TUNED_TABLES", "path", "the folder of tables that were tuned for a chip, for SGLang and vLLM"),
    Variable(
        "TORCHADA_EXCLUDE_DIRS",
        "path",
        "folders, or names of folders, with headers that builds do not port, separated by colons or commas",
    ),
    Variable("TORCHADA_TUNE_USE_GRAPH", "flag", "was read by the tuner of torchada 0.1 and has no effect"),
    Variable(
        "TORCHADA_MIRRORED_COLLECTIVES", "internal", "the collective library's variables that torchada itself has set"
    ),
    Variable("TORCHADA_MIRRORED_ALLOCATOR", "internal", "the allocator's settings that torchada itself has set"),
    Variable("TORCHADA_MIRRORED_VISIBLE_DEVICES", "internal", "the visible-devices value that torchada itself has set"),
)
DISABLE_OP = "TORCHADA_DISABLE_OP_OVERRIDE_"
PREFIXES = (DISABLE_OP,)
_BY_NAME = {variable.name: variable for variable in VARIABLES}


class Settings(NamedTuple):
    """What the environment asks for, with every value understood or replaced by its default."""

    disable: bool = False
    platform: str = "auto"
    simulate: bool = False
    view: str = "caller"
    cuda_view: frozenset[str] = frozenset()
    musa_view: frozenset[str] = frozenset()
    force_cuda_available: bool = False
    cuda_capability: tuple[int, int] | None = None
    strict: bool = False
    native: str = "auto"
    skip_areas: frozenset[str] = frozenset()
    graph_dumps: str | None = None
    vendor_precision: bool = False
    all_dtypes: bool = False
    graph_rotation: bool = True
    graph_exec_cap: int = 0
    graph_autoprobe: bool = False
    graph_exec_margin: int = 128
    log: str = ""
    report: tuple[str, ...] = ()
    cpp_ops: bool = False
    cpp_ops_path: tuple[str, ...] = ()
    cpp_ops_verbose: bool = False
    cpp_ops_logged: bool = False
    disabled_ops: frozenset[str] = frozenset()
    cache: str | None = None
    tuned_tables: str = os.path.join("~", ".local", "share", "torchada", "tuned")
    exclude_dirs: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()

    @property
    def recorded_for(self) -> str:
        """The variable that asks for a record of calls, or "" where none does."""
        return "TORCHADA_LOG" if self.log else "TORCHADA_REPORT" if self.report else ""


def read(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the environment (default: the process's). Values that are not understood are listed and count as not set."""
    env = os.environ if environ is None else environ
    ours = {name: value.strip() for name, value in env.items() if name.startswith(PREFIX)}
    unknown = tuple(sorted(name for name in ours if variable(name) is None))
    bad = tuple(sorted(f"{name}={value!r}" for name, value in ours.items() if not _understood(name, value)))
    good = {name: value for name, value in ours.items() if _understood(name, value)}
    return Settings(
        disable=_flag(good, "TORCHADA_DISABLE"),
        platform=good.get("TORCHADA_PLATFORM", "").lower() or "auto",
        simulate=_flag(good, "TORCHADA_SIMULATE"),
        view=good.get("TORCHADA_VIEW", "").lower() or "caller",
        cuda_view=_list(good, "TORCHADA_CUDA_VIEW"),
        musa_view=_list(good, "TORCHADA_MUSA_VIEW"),
        force_cuda_available=_flag(good, "TORCHADA_FORCE_CUDA_AVAILABLE"),
        cuda_capability=_version(good, "TORCHADA_CUDA_CAPABILITY"),
        strict=_flag(good, "TORCHADA_STRICT"),
        native=good.get("TORCHADA_NATIVE", "").lower() or "auto",
        skip_areas=_list(good, "TORCHADA_SKIP_AREAS"),
        graph_dumps=good.get("TORCHADA_CUDA_GRAPH_DEBUG_DUMP_PATH") or None,
        vendor_precision=_flag(good, "TORCHADA_VENDOR_PRECISION"),
        all_dtypes=_flag(good, "TORCHADA_ALL_DTYPES"),
        graph_rotation=_flag({"TORCHADA_GRAPH_ROTATION": "1", **_set(good)}, "TORCHADA_GRAPH_ROTATION"),
        graph_exec_cap=int(good.get("TORCHADA_GRAPH_EXEC_CAP") or 0),
        graph_autoprobe=_flag(good, "TORCHADA_GRAPH_AUTOPROBE"),
        graph_exec_margin=int(good.get("TORCHADA_GRAPH_EXEC_MARGIN") or 128),
        log=good.get("TORCHADA_LOG", "").lower(),
        report=tuple(filter(None, good.get("TORCHADA_REPORT", "").split(os.pathsep))),
        cpp_ops=_flag(good, "TORCHADA_ENABLE_CPP_OPS"),
        cpp_ops_path=tuple(filter(None, good.get("TORCHADA_CPP_OPS_PATH", "").split(os.pathsep))),
        cpp_ops_verbose=_flag(good, "TORCHADA_CPP_OPS_VERBOSE"),
        cpp_ops_logged=_flag(good, "TORCHADA_DEBUG_CPP_OPS"),
        disabled_ops=frozenset(
            name[len(DISABLE_OP) :] for name in good if name.startswith(DISABLE_OP) and _flag(good, name)
        ),
        cache=good.get("TORCHADA_CACHE_DIR") or None,
        tuned_tables=good.get("TORCHADA_TUNED_TABLES") or _users_tables(env),
        exclude_dirs=_parts(good.get("TORCHADA_EXCLUDE_DIRS", "").replace(",", os.pathsep)),
        unknown=unknown,
        not_understood=bad,
    )


def of_others(name: str) -> str:
    """A variable that is not ours ("CXX"), as it is now; empty where it is not set."""
    return os.environ.get(name, "").strip()


def everything() -> dict[str, str]:
    """All variables of this process, for a report on them."""
    return dict(os.environ)


def environment_with(changes: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process of ours, with `changes`."""
    return {**os.environ, **changes}


def variable(name: str) -> Variable | None:
    """What is known of the variable `name`; None for one that torchada does not know."""
    for prefix in PREFIXES:
        if name.startswith(prefix) and name != prefix:
            return Variable(name, "flag", f"leave the operator {name[len(prefix) :]} alone")
    return _BY_NAME.get(name)


@contextmanager
def unless_set(name: str, value: str) -> Iterator[None]:
    """Give a variable of others a value for the time of a block, unless the user has set it."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)


class Mark(NamedTuple):
    """A variable of kind "internal": it tells child processes what torchada itself has written into variables of others."""

    name: str

    def read(self) -> str | None:
        """Its current value; None where it is not set."""
        return os.environ.get(self.name)

    def write(self, value: str | None) -> None:
        """Set it, or remove it (None)."""
        if value is None:
            os.environ.pop(self.name, None)
        else:
            os.environ[self.name] = value


VISIBLE_DEVICES = Mark("TORCHADA_MIRRORED_VISIBLE_DEVICES")
ALLOCATOR = Mark("TORCHADA_MIRRORED_ALLOCATOR")
COLLECTIVES = Mark("TORCHADA_MIRRORED_COLLECTIVES")


def in_force(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The TORCHADA_ variables that are set, by name."""
    env = os.environ if environ is None else environ
    return {name: env[name] for name in sorted(env) if name.startswith(PREFIX)}


def warn_about(settings: Settings) -> None:
    """Warn, once, of what was not understood in the environment."""
    for entry in settings.not_understood:
        name = entry.partition("=")[0]
        known = variable(name)
        if known is not None:
            warn_once(f"{entry} is not understood and ignored; {_expected(known)}")
    for name in settings.unknown:
        warn_once(f"{name} is not a variable torchada knows; see `python -m torchada.hooks status`")


def _users_tables(env: Mapping[str, str]) -> str:
    data = env.get("XDG_DATA_HOME")
    return os.path.join(data, "torchada", "tuned") if data else Settings().tuned_tables


def _parts(value: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in value.split(os.pathsep))))


def _set(values: Mapping[str, str]) -> dict[str, str]:
    """Without those that are set to nothing."""
    return {name: value for name, value in values.items() if value}


def _flag(values: Mapping[str, str], name: str) -> bool:
    return values.get(name, "").lower() in ON


def _list(values: Mapping[str, str], name: str) -> frozenset[str]:
    return frozenset(filter(None, (part.strip() for part in values.get(name, "").split(","))))


def _version(values: Mapping[str, str], name: str) -> tuple[int, int] | None:
    major, point, minor = values.get(name, "").partition(".")
    return (int(major), int(minor)) if point else None


def _understood(name: str, value: str) -> bool:
    known = variable(name)
    if known is None or value == "" or known.kind in ("list", "path", "internal"):
        return True
    if known.kind == "flag":
        return value.lower() in ON + OFF
    if known.kind == "choice":
        return value.lower() in known.choices
    if known.kind == "packages":
        return all(part.strip().isidentifier() for part in value.split(","))
    if known.kind == "version":
        return re.fullmatch(r"\d+\.\d+", value, re.ASCII) is not None
    if known.kind == "number":
        return value.isdecimal() and int(value) > 0
    return value.replace("_", "").replace("-", "").isalnum()


def _expected(known: Variable) -> str:
    if known.kind == "choice":
        return f"expected one of {', '.join(known.choices)}"
    if known.kind == "flag":
        return "expected 1 or 0"
    if known.kind == "packages":
        return "expected top-level packages, separated by commas"
    if known.kind == "version":
        return "expected two numbers and a point, as in 8.0"
    if known.kind == "number":
        return "expected a number above 0"
    return f"expected {known.meaning}"
