"""Every TORCHADA_ environment variable: its name, its values, its default and its meaning. The only place that reads them.

There are two exceptions. Start-up (_torchada_startup.py) reads what it needs for itself, because it may import nothing, not even
this; and the fast path behind it (hooks/importer.py) asks whether any TORCHADA_ variable is set, so that this is not loaded where
none is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")
PREFIX = "TORCHADA_"
# What a flag may be, in small letters. Start-up knows ON as well.
ON = ("1", "true", "yes", "on")
OFF = ("", "0", "false", "no", "off")
# The compute capabilities that NVIDIA's GPUs have, those of PyTorch's oldest builds included.
CAPABILITIES = (
    *("2.0", "2.1", "3.0", "3.2", "3.5", "3.7", "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2", "7.5"),
    *("8.0", "8.6", "8.7", "8.8", "8.9", "9.0", "10.0", "10.1", "10.3", "11.0", "12.0", "12.1"),
)


class Kind(Generic[T]):
    """How values are written: which are accepted, what they become, and what is `expected`, in words; nothing where all are."""

    def __init__(
        self, convert: Callable[[str], T], expected: str = "", accepts: Callable[[str], bool] = lambda text: True
    ) -> None:
        self.convert, self.expected, self.accepts = convert, expected, accepts


def _choice(*names: str) -> Kind[str]:
    return Kind(str.lower, f"one of {', '.join(names)}", lambda text: text.lower() in names)


def _names(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.split(","))))


def _paths(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(os.pathsep))))


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


FLAG = Kind(lambda text: text.lower() in ON, "1 or 0", lambda text: text.lower() in ON + OFF)
LOWER = Kind(str.lower)
NUMBER = Kind(int, "a number above 0", lambda text: text.isdecimal() and int(text) > 0)
PLATFORM = Kind(
    str.lower,
    "musa, npu, mlu, host, xpu, mps, cuda, cpu, the name of an installed backend, or auto (the default)",
    lambda text: text.replace("_", "").replace("-", "").isalnum(),
)
PACKAGES = Kind(
    _names,
    "top-level packages, separated by commas",
    lambda text: all(name.strip().isidentifier() for name in text.split(",")),
)
CAPABILITY: Kind[tuple[int, int] | None] = Kind(
    _version, f"one that an NVIDIA GPU has: {', '.join(CAPABILITIES)}", lambda text: text in CAPABILITIES
)
NAMES, TEXT, PATHS = Kind(_names), Kind(str), Kind(_paths)
FOLDERS = Kind(lambda text: _paths(text.replace(",", os.pathsep)))
FOLDER: Kind[str | None] = Kind(str)


class Variable(Generic[T]):
    """One environment variable; as an attribute of `Settings`, what it was set to, or its default."""

    attribute = ""

    def __init__(self, name: str, kind: Kind[T], default: T, meaning: str) -> None:
        self.name, self.kind, self.default, self.meaning = PREFIX + name, kind, default, meaning

    def __set_name__(self, owner: type[Settings], attribute: str) -> None:
        self.attribute = attribute

    def __get__(self, settings: Settings, owner: type[Settings]) -> T:
        value: T = settings.values.get(self.attribute, self.default)
        return value


class Mark(Variable[str]):
    """A variable of torchada itself: it tells child processes what torchada itself has written into variables of others."""

    def read(self) -> str | None:
        """Its current value; None where it is not set."""
        return os.environ.get(self.name)

    def write(self, value: str | None) -> None:
        """Set it, or remove it (None)."""
        if value is None:
            os.environ.pop(self.name, None)
        else:
            os.environ[self.name] = value


class Settings:
    """What the environment asks for. A value that is not set, or not understood, is the default. Equal where all values are."""

    __slots__ = ("disabled_ops", "not_understood", "unknown", "values")

    disable = Variable("DISABLE", FLAG, False, "leave the process as if torchada were not installed")
    platform = Variable("PLATFORM", PLATFORM, "auto", "the platform, in place of what torchada would choose")
    simulate = Variable("SIMULATE", FLAG, False, "`import torch_musa` finds the simulator where none is installed")
    simulate_required = Variable("SIMULATE_REQUIRED", FLAG, False, "exit where the simulator cannot start")
    view = Variable("VIEW", _choice("caller", "cuda", "musa"), "caller", "what all code sees; caller: what it knows")
    cuda_view = Variable("CUDA_VIEW", PACKAGES, frozenset(), "packages that see CUDA")
    musa_view = Variable("MUSA_VIEW", PACKAGES, frozenset(), "packages that see MUSA")
    force_cuda_available = Variable("FORCE_CUDA_AVAILABLE", FLAG, False, "is_available() is True for PyTorch as well")
    cuda_capability = Variable("CUDA_CAPABILITY", CAPABILITY, None, "the compute capability for code which sees CUDA")
    strict = Variable("STRICT", FLAG, False, "raise where torchada would warn and go on")
    native = Variable("NATIVE", _choice("0", "1", "auto"), "auto", "the native (1) or the portable (0) mechanism")
    skip_areas = Variable("SKIP_AREAS", NAMES, frozenset(), "areas to leave alone, separated by commas")
    all_dtypes = Variable("ALL_DTYPES", FLAG, True, "0: leave the data types that the backend's kernels refuse")
    cpu_fallback = Variable(
        "CPU_FALLBACK", _choice("warn", "silent", "refuse"), "warn", "operators computed on the CPU"
    )
    graph_dumps = Variable("CUDA_GRAPH_DEBUG_DUMP_PATH", FOLDER, None, "gets a file for each graph that is captured")
    graph_rotation = Variable("GRAPH_ROTATION", FLAG, True, "0: never give up the executable of a graph")
    graph_exec_cap = Variable("GRAPH_EXEC_CAP", NUMBER, 0, "how many executables of graphs a process keeps at a time")
    graph_autoprobe = Variable("GRAPH_AUTOPROBE", FLAG, False, "find the driver's limit of executables by a trial")
    graph_exec_margin = Variable("GRAPH_EXEC_MARGIN", NUMBER, 128, "how far below a limit from a trial to stay")
    vendor_precision = Variable("VENDOR_PRECISION", FLAG, False, "start with the vendor's precision of matrix products")
    rng = Variable(
        "RNG", _choice("cuda", "backend"), "backend", "cuda: draw random numbers by the grid of an NVIDIA GPU"
    )
    log = Variable("LOG", _choice("calls", "summary"), "", "report on stderr which APIs of CUDA are used")
    report = Variable("REPORT", PATHS, (), "the files of `torchada run --report`; not for users")
    cpp_ops = Variable("ENABLE_CPP_OPS", FLAG, False, "override operators of PyTorch by kernels in C++, compiled once")
    cpp_ops_path = Variable("CPP_OPS_PATH", PATHS, (), "folders with more overrides of operators, separated by colons")
    cpp_ops_verbose = Variable("CPP_OPS_VERBOSE", FLAG, False, "show how overrides are compiled, and which there are")
    cpp_ops_logged = Variable("DEBUG_CPP_OPS", FLAG, False, "a line on stderr for each call that is overridden")
    cpp_gates = Variable(
        "CPP_GATES", _choice("auto", "0", "1"), "auto", "gates of operators in C++, once compiled; 1: wait for it"
    )
    cache = Variable("CACHE_DIR", FOLDER, None, "the folder that what torchada compiles is kept in")
    precompiled_headers = Variable(
        "PRECOMPILED_HEADERS", _choice("auto", "0", "1"), "auto", "1: builds keep <torch/extension.h> compiled"
    )
    tuned_tables = Variable("TUNED_TABLES", TEXT, "~/.local/share/torchada/tuned", "tables for SGLang and vLLM")
    triton_f32_default = Variable("TRITON_F32_DEFAULT", LOWER, "", "how tl.dot multiplies float32 by default")
    triton_inplace_alias = Variable(
        "TRITON_INPLACE_ALIAS", _choice("fix", "off", "vendor"), "fix", "what MUSA Triton 3.6 is told of equal pointers"
    )
    exclude_dirs = Variable("EXCLUDE_DIRS", FOLDERS, (), "folders, or their names, with headers that are not ported")

    def __init__(
        self,
        disabled_ops: frozenset[str] = frozenset(),
        unknown: tuple[str, ...] = (),
        not_understood: tuple[str, ...] = (),
        **values: object,
    ) -> None:
        self.disabled_ops, self.unknown, self.not_understood = disabled_ops, unknown, not_understood
        defaults = {name: vars(Settings)[name].default for name in values}
        self.values: dict[str, Any] = {name: value for name, value in values.items() if value != defaults[name]}

    @property
    def _identity(self) -> tuple[object, ...]:
        return frozenset(self.values.items()), self.disabled_ops, self.unknown, self.not_understood

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"Settings{self._identity}"

    @property
    def recorded_for(self) -> str:
        """The variable that asks for a record of calls, or "" where none does."""
        return "TORCHADA_LOG" if self.log else "TORCHADA_REPORT" if self.report else ""


DISABLE_OP = "TORCHADA_DISABLE_OP_OVERRIDE_"
PREFIXES = (DISABLE_OP,)
VISIBLE_DEVICES = Mark("MIRRORED_VISIBLE_DEVICES", TEXT, "", "the visible devices that torchada itself has set")
ALLOCATOR = Mark("MIRRORED_ALLOCATOR", TEXT, "", "the allocator's settings that torchada itself has set")
RUNTIME = Mark("MIRRORED_RUNTIME", TEXT, "", "the runtime's variables that torchada itself has set")
COLLECTIVES = Mark("MIRRORED_COLLECTIVES", TEXT, "", "the collective library's variables that torchada has set")
VARIABLES: tuple[Variable[Any], ...] = (
    *(setting for setting in vars(Settings).values() if isinstance(setting, Variable)),
    Variable("TUNE_USE_GRAPH", FLAG, False, "was read by the tuner of torchada 0.1 and has no effect"),
    Variable("TRITON_FAST_EXP", FLAG, False, "was read by torchada 0.1 for MUSA Triton 3.6 and has no effect"),
    VISIBLE_DEVICES,
    ALLOCATOR,
    RUNTIME,
    COLLECTIVES,
)
_BY_NAME = {variable.name: variable for variable in VARIABLES}


def variable(name: str) -> Variable[Any] | None:
    """What is known of the variable `name`; None for one that torchada does not know."""
    for prefix in PREFIXES:
        if name.startswith(prefix) and name != prefix:
            return Variable(name[len(PREFIX) :], FLAG, False, f"leave the operator {name[len(prefix) :]} alone")
    return _BY_NAME.get(name)


def read(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the environment (default: the process's). Values that are not understood are listed and count as not set."""
    env = os.environ if environ is None else environ
    data, values = env.get("XDG_DATA_HOME"), dict[str, Any]()
    if data:
        values["tuned_tables"] = os.path.join(data, "torchada", "tuned")
    disabled, unknown, not_understood = [], [], []
    for name, text in in_force(env).items():
        known, text = variable(name), text.strip()
        if known is None:
            unknown.append(name)
        elif text and not known.kind.accepts(text):
            not_understood.append(f"{name}={text!r}")
        elif text and known.attribute:
            values[known.attribute] = known.kind.convert(text)
        elif name.startswith(DISABLE_OP) and known.kind.convert(text):
            disabled.append(name[len(DISABLE_OP) :])
    return Settings(frozenset(disabled), tuple(unknown), tuple(not_understood), **values)


def in_force(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The TORCHADA_ variables that are set, by name."""
    env = os.environ if environ is None else environ
    return {name: env[name] for name in sorted(env) if name.startswith(PREFIX)}


def of_others(name: str) -> str:
    """A variable that is not ours ("CXX"), as it is now; empty where it is not set."""
    return os.environ.get(name, "").strip()


def everything() -> dict[str, str]:
    """All variables of this process, for a report on them."""
    return dict(os.environ)


def environment_with(changes: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process of ours, with `changes`."""
    return {**os.environ, **changes}


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
