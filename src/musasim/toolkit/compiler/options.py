"""mcc's command line: the options it knows, and what it does with them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ARCHITECTURES = (10, 21, 22, 31, 32)
_NEWEST = 31  # what the simulated device is

# Options with a value, which is the next argument or joined to the name.
_PREPROCESSOR = ("-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-isysroot", "-D", "-U")
_JOINED_OR_APART = (*_PREPROCESSOR, "-o", "-x", "-l", "-L", "-MF", "-MT", "-MQ", "-Xlinker", "-z", "-T", "-u", "-arch")
_JOINED = ("-isystem", "-include", "-I", "-D", "-U", "-o", "-x", "-l", "-L")
_DEPENDENCIES = ("-MD", "-MMD", "-MP", "-MG")
_LINKER = (
    "-shared", "-static", "-static-libgcc", "-static-libstdc++", "-rdynamic", "-pie", "-no-pie", "-s", "-nostdlib",
    "-nodefaultlibs", "-nostartfiles", "-pthread", "-fopenmp",
)  # fmt: skip
_COMPILER = (
    "-g", "-g0", "-g1", "-g2", "-g3", "-ggdb", "-gdwarf-4", "-gdwarf-5", "-fPIC", "-fpic", "-fPIE", "-fpie", "-w", "-pipe",
    "-fno-exceptions", "-fexceptions", "-fno-rtti", "-frtti", "-fno-strict-aliasing", "-fstrict-aliasing", "-fsigned-char",
    "-fno-strict-overflow", "-fstrict-overflow",
    "-funsigned-char", "-fwrapv", "-fno-wrapv", "-ffp-contract=off", "-ffp-contract=on", "-ffp-contract=fast",
    "-fno-omit-frame-pointer", "-fomit-frame-pointer", "-fvisibility-inlines-hidden",
    "-fno-plt", "-ffunction-sections", "-fdata-sections", "-fopenmp", "-fno-common", "-fcommon", "-funroll-loops",
    "-fno-semantic-interposition", "-fstack-protector", "-fstack-protector-strong", "-fno-stack-protector", "-fno-math-errno",
    "-fno-trapping-math", "-fdiagnostics-color", "-fno-diagnostics-color", "-fcolor-diagnostics", "-fno-color-diagnostics",
    "-Wall", "-Wextra", "-Werror", "-pedantic", "-ansi", "-pthread", "-fsyntax-only", "-P", "-C", "-dM", "-fno-inline",
)  # fmt: skip
_COMPILER_PREFIXES = (
    "-std=", "-O", "-march=", "-mtune=", "-mcpu=", "-fvisibility=", "-ftemplate-depth=", "-fconstexpr-", "-ffile-prefix-map=",
    "-fdebug-prefix-map=", "-fmacro-prefix-map=", "-fdiagnostics-color=", "-ferror-limit=", "-ftemplate-backtrace-limit=",
    "-fopenmp=", "-fsanitize=", "-mavx", "-msse", "-mfma", "-mf16c", "-mno-", "-m64", "-W",
)  # fmt: skip
# Options of the device's compiler that have no meaning here. Nothing is reordered or made less exact, so fast mathematics is
# ignored. Contraction is not: where the processor can fuse, the sum is another one.
_IGNORED = re.compile(
    r"-mtgpu.*|-fmusa-.*|-f(no-)?fast-math|-ffast-math|-f(no-)?associative-math|-f(no-)?reciprocal-math|-f(no-)?signed-zeros"
    r"|-f(no-)?finite-math-only|-funsafe-math-optimizations|-f(no-)?slp-vectorize"
    r"|-f(no-)?vectorize|-Qunused-arguments|--musa-path=.*|-nomusainc|-nomusalib|-f(no-)?gpu-.*|-f(no-)?c(aret|olor)-diagnostics"
    r"|-ferror-limit=.*|-fopenmp=.*|--save-temps|-save-temps.*|-f(no-)?lto|-flto=(thin|full|auto|jobserver)"
)
_LANGUAGES = {
    "musa": "musa",
    "c++": "c++",
    "c": "c",
    "none": "none",
    "c++-header": "c++",
}
_SUFFIXES = {
    ".mu": "musa", ".muh": "musa", ".cpp": "c++", ".cc": "c++", ".cxx": "c++", ".C": "c++", ".c": "c", ".ii": "c++",
    ".s": "assembler", ".S": "assembler",
}  # fmt: skip
_LINKABLE = re.compile(r".*\.(o|obj|a|lo|so(\.[\d.]+)?)")


class UsageError(Exception):
    """mcc refuses the command line. The message has one line for each reason."""


@dataclass
class Input:
    path: str
    language: str  # musa, c++, c, assembler or link


@dataclass
class Options:
    # Or compile (-c), assemble (-S), preprocess (-E), check (-fsyntax-only), depend (-M, -MM), device-link (-dlink).
    mode: str = "link"
    output: str | None = None
    inputs: list[Input] = field(default_factory=list)
    architectures: list[int] = field(default_factory=list)
    preprocess: list[str] = field(default_factory=list)
    compile: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)  # in order, with "<input N>" where an input stands
    dependencies: list[str] = field(default_factory=list)
    standard: str | None = None
    relocatable: bool = False  # device code, by -fgpu-rdc
    verbose: bool = False
    dry: bool = False
    show_version: bool = False

    @property
    def architecture(self) -> int:
        """The source of __MUSA_ARCH__: the newest architecture that the simulated device runs."""
        fitting = [architecture for architecture in self.architectures if architecture <= _NEWEST]
        return max(fitting or self.architectures or [_NEWEST])


def parse(arguments: list[str]) -> Options:
    """Raise UsageError with all reasons, if there are any."""
    return _Parser().parse(_expanded(arguments))


def _expanded(arguments: list[str], depth: int = 0) -> list[str]:
    """Replace response files by their contents. They may name other response files."""
    expanded: list[str] = []
    for argument in arguments:
        path = Path(argument[1:])
        if argument.startswith("@") and len(argument) > 1 and path.is_file() and depth < 10:
            expanded += _expanded(shlex.split(path.read_text(encoding="utf-8", errors="surrogateescape")), depth + 1)
        else:
            expanded.append(argument)
    return expanded


class _Parser:
    def __init__(self) -> None:
        self.options = Options()
        self._language = "none"
        self._problems: list[str] = []

    def parse(self, arguments: list[str]) -> Options:
        rest = list(arguments)
        while rest:
            self._take(rest)
        options = self.options
        if not options.inputs and not options.show_version and not (options.verbose and not self._problems):
            self._problems.append("no input files")
        if options.output is not None and options.mode != "link" and len(self._sources()) > 1:
            self._problems.append("cannot specify -o when generating multiple output files")
        if self._problems:
            raise UsageError("\n".join(f"mcc: error: {problem}" for problem in self._problems))
        return options

    def _sources(self) -> list[Input]:
        return [source for source in self.options.inputs if source.language != "link"]

    def _take(self, rest: list[str]) -> None:
        argument = rest.pop(0)
        if argument == "-" or not argument.startswith("-"):
            self._input(argument)
        elif not (self._mode(argument) or self._with_value(argument, rest) or self._plain(argument)):
            self._refuse(argument)

    def _input(self, path: str) -> None:
        language = self._language
        if language == "none":
            language = _SUFFIXES.get(Path(path).suffix, "link")
            if language == "link" and path == "-":
                self._problems.append("-E or -x required when input is from standard input")
        if path != "-" and not Path(path).exists():
            self._problems.append(f"no such file or directory: '{path}'")
        elif language == "link" and path != "-" and not _LINKABLE.fullmatch(path) and Path(path).is_dir():
            self._problems.append(f"'{path}' is a directory")
        self.options.link.append(f"<input {len(self.options.inputs)}>")
        self.options.inputs.append(Input(path, language))

    def _mode(self, argument: str) -> bool:
        options = self.options
        modes = {
            "-c": "compile", "-S": "assemble", "-E": "preprocess", "-fsyntax-only": "check", "-M": "depend", "-MM": "depend",
            "-dlink": "device-link",
        }  # fmt: skip
        if argument in modes:
            options.mode = modes[argument]
            if argument in ("-M", "-MM"):
                options.dependencies.append(argument)
        elif argument in ("--version", "-version"):
            options.show_version = True
        elif argument in ("-v", "--verbose"):
            options.verbose = True
        elif argument == "-###":
            options.verbose = options.dry = True
        else:
            return False
        return True

    def _with_value(self, argument: str, rest: list[str]) -> bool:
        for name in ("--offload-arch", "--musa-gpu-arch", "--cuda-gpu-arch"):
            if argument.startswith(name + "="):
                self._architecture(argument.partition("=")[2])
                return True
            if argument == name and rest:
                self._architecture(rest.pop(0))
                return True
        if argument in ("-mllvm", "-Xclang", "-Xmusa-ptxas"):
            if rest:
                rest.pop(0)
            return True
        if argument in _JOINED_OR_APART:
            if rest:
                self._value(argument, rest.pop(0))
            else:
                self._problems.append(f"argument to '{argument}' is missing (expected 1 value)")
            return True
        for name in _JOINED:
            if argument.startswith(name):
                self._value(name, argument[len(name) :])
                return True
        return False

    def _value(self, name: str, value: str) -> None:
        options = self.options
        if name == "-o":
            options.output = value
        elif name == "-x":
            if value in _LANGUAGES:
                self._language = _LANGUAGES[value]
            else:
                self._problems.append(f"language not recognized: '{value}'")
        elif name in ("-l", "-L"):
            options.link.append(name + value)
        elif name in ("-Xlinker", "-z", "-T", "-u"):
            options.link += [name, value]
        elif name in ("-MF", "-MT", "-MQ"):
            options.dependencies += [name, value]
        elif name == "-arch":
            self._problems.append(f"unsupported option '-arch {value}'; use '--offload-arch=mp_31'")
        else:
            options.preprocess += [name, value]

    def _architecture(self, text: str) -> None:
        for name in text.split(","):
            known = re.fullmatch(r"mp_(\d+)", name)
            if known and int(known[1]) in ARCHITECTURES:
                self.options.architectures.append(int(known[1]))
            elif name == "native":
                self.options.architectures.append(_NEWEST)
            else:
                self._problems.append(f"unsupported MUSA gpu architecture: {name}")

    def _plain(self, argument: str) -> bool:
        options = self.options
        if argument in _DEPENDENCIES:
            options.dependencies.append(argument)
        elif argument.startswith("-std="):
            options.standard = argument
        elif argument.startswith("-Wl,"):
            options.link.append(argument)
        elif argument.startswith(("-Wp,", "-Wa,")):
            options.compile.append(argument)
        elif argument in ("-fgpu-rdc", "-fno-gpu-rdc"):
            options.relocatable = argument == "-fgpu-rdc"
        elif _IGNORED.fullmatch(argument):
            pass
        elif argument in _LINKER or argument in _COMPILER:
            if argument in _LINKER:
                options.link.append(argument)
            if argument in _COMPILER and not argument.endswith("color-diagnostics"):
                options.compile.append(argument)
        elif re.fullmatch(r"-O([0-4sgz]|d\d?|fast)?", argument):
            options.compile.append(_optimization(argument))
        elif argument.startswith(("-O", "-mfpmath")):
            return False
        elif argument.startswith(_COMPILER_PREFIXES):
            options.compile += [argument] if not argument.startswith("-W") or _is_common_warning(argument) else []
            if argument.startswith("-fsanitize="):
                options.link.append(argument)
        else:
            return False
        return True

    def _refuse(self, argument: str) -> None:
        self._problems.append(f"unknown argument: '{argument}'")


def _optimization(argument: str) -> str:
    """mcc's -Od3 optimises only the device's code, and -Ofast would switch on fast mathematics."""
    if argument in ("-Ofast", "-O4"):
        return "-O3"
    return "-O" + argument[3:] if argument.startswith("-Od") and len(argument) > 3 else argument.replace("-Od", "-O2")


def _is_common_warning(argument: str) -> bool:
    """Return whether both compilers know a warning. GCC accepts any -Wno- option, and refuses other unknown warnings."""
    name = argument[2:].partition("=")[0]
    return name.startswith("no-") or name in (
        "all", "extra", "error", "unused", "shadow", "conversion", "sign-compare", "unused-variable", "unused-parameter",
        "unused-function", "return-type", "pedantic", "cast-align", "deprecated", "deprecated-declarations", "reorder",
        "missing-field-initializers", "uninitialized", "format", "switch", "parentheses", "undef", "vla",
    )  # fmt: skip
