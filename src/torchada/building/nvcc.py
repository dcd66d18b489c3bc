"""The program that stands in for nvcc: it ports what it is to compile and calls the accelerator's compiler.

Builds start it, torch's own included. It needs neither torch nor any installed package.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from torchada.building import cmake
from torchada.building import nvcc_flags as table
from torchada.building.architectures import flags as architecture_flags
from torchada.building.architectures import listed_devices, names_architecture
from torchada.building.closure import is_own_source, is_source, of_build
from torchada.building.cuda_home import toolkit_of
from torchada.building.cuda_home_files import VERSION
from torchada.building.environment import variable
from torchada.building.errors import BuildError, say
from torchada.building.flags import translate, with_files
from torchada.building.include_flags import included, of_environment, with_copies
from torchada.building.ported import Copies, port
from torchada.building.stable_abi import stable_include_dirs
from torchada.building.toolkit import Toolkit
from torchada.porting.scan import MANIFEST

_NOT_LINKING = frozenset({"-c", "-E", "-S", "-M", "-MM", "-fsyntax-only", "-dlink"})
_ASKS_ALONE = frozenset(
    {"--version", "-V", "--help", "-h", "--list-gpu-arch", "-arch-ls", "--list-gpu-code", "-code-ls"}
)
# nvcc's -O has got its level by then, and GCC's may stand alone.
_WITH_VALUE = table.PASSED_WITH_VALUE - {"-O"}
# A folder that contains one of these is PyTorch's, Python's, DLPack's or TVM's. Their headers suit both compilers, and are not the
# project's.
_HEADERS_OF_OTHERS = ("ATen/ATen.h", "torch/extension.h", "Python.h", "dlpack/dlpack.h", "tvm/ffi/c_api.h")
_NOT_COMPILED = (
    "torchada: not compiled, with names of CUDA's that have no counterpart. Give these lines another form where __MUSA__ is "
    "defined, or leave the source out of the build; `torchada port --report report.html FOLDER` shows each with its reason"
)


def main(record: str) -> int:
    """Run like nvcc with this process's arguments; returns the exit status. `record` is the file that describes the toolkit."""
    try:
        toolkit = toolkit_of(record)
        toolkit = replace(toolkit, devices=partial(listed_devices, toolkit))
        arguments = with_files([*_extra("NVCC_PREPEND_FLAGS"), *sys.argv[1:], *_extra("NVCC_APPEND_FLAGS")])
        asked = next((flag for flag in arguments if flag in _ASKS_ALONE), None)
        if asked is not None:
            print(_answer(asked, toolkit))
            return 0
        return _compile(arguments, toolkit, os.path.dirname(record))
    except BuildError as error:
        print(f"nvcc (torchada): {error}", file=sys.stderr)
        return 1


def _extra(name: str) -> list[str]:
    """Flags from nvcc's own environment variable `name`, which it has beside those of its command line."""
    try:
        return shlex.split(variable(name) or "")
    except ValueError as error:
        raise BuildError(f"{name} is no list of flags: {error}") from error


def _answer(asked: str, toolkit: Toolkit) -> str:
    if "version" in asked or asked == "-V":
        return (
            f"nvcc: NVIDIA (R) Cuda compiler driver, for which torchada stands in: compiles with {toolkit.compiler_path()}\n"
            f"Cuda compilation tools, release {VERSION}, V{VERSION}.0\n"
            f"Build cuda_{VERSION}.r{VERSION}/torchada"
        )
    if "list" in asked or asked.endswith("-ls"):
        prefix = "sm" if "code" in asked else "compute"
        return "\n".join(f"{prefix}_{number}" for number in ("70", "75", "80", "86", "89"))
    return f"nvcc: takes nvcc's arguments, ports CUDA sources, and compiles them with {toolkit.compiler_path()}"


@dataclass(frozen=True)
class Line:
    """A parsed command line: `inputs` are positions in `flags`, `output` is the file to make."""

    flags: list[str]
    inputs: list[int]
    output: str | None

    @classmethod
    def of(cls, flags: list[str]) -> Line:
        inputs, output, before = [], None, ""
        for at, flag in enumerate(flags):
            if before == "-o":
                output = flag
            elif before in _WITH_VALUE:
                pass
            elif not flag.startswith("-"):
                inputs.append(at)
            elif flag.startswith("-o") and len(flag) > 2:
                output = flag[2:]
            before = flag if before not in _WITH_VALUE else ""
        return cls(flags, inputs, output)

    @property
    def language(self) -> str | None:
        return self.flags[self.flags.index("-x") + 1] if "-x" in self.flags else None

    def folder(self) -> str | None:
        """The folder for ported sources, beside the output file; None where the output is no file: on stdout, /dev/null."""
        if self.output is None and {"-E", "-M", "-MM"} & set(self.flags):
            return None
        if self.output is not None and (self.output == "-" or _is_device(self.output)):
            return None
        first = os.path.splitext(os.path.basename(self.flags[self.inputs[0]]))[0]
        output = os.path.abspath(self.output or first)
        return os.path.join(os.path.dirname(output), ".torchada", os.path.basename(output))

    @property
    def is_linking(self) -> bool:
        return not _NOT_LINKING & set(self.flags)


def _is_device(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def _compile(arguments: Sequence[str], toolkit: Toolkit, home: str) -> int:
    translated = translate(arguments, toolkit)
    say(translated.notices)
    line = Line.of(translated.flags)
    if not line.inputs:
        raise BuildError("no input files")
    if macros := cmake.identity(arguments):
        return _call(None, ["-x", toolkit.language, *macros, *line.flags], line, translated.asked, toolkit, home)
    with tempfile.TemporaryDirectory(prefix="torchada-") as for_nothing_else:
        return _compile_ported(line, translated.asked, toolkit, home, line.folder() or for_nothing_else)


def _compile_ported(line: Line, asked: Sequence[str], toolkit: Toolkit, home: str, folder: str) -> int:
    copies = ported(line, home, toolkit, folder)
    flags = line.flags
    if copies is not None:
        say(copies.notices)
        inputs = {line.flags[at] for at in line.inputs}
        flags = with_copies(line.flags, copies)
        flags = [copies.of(flag) if flag in inputs else flag for flag in flags]
    return _call(copies, flags, line, asked, toolkit, home)


def _call(
    copies: Copies | None, flags: list[str], line: Line, asked: Sequence[str], toolkit: Toolkit, home: str
) -> int:
    """Call the compiler with `flags`, in which inputs are the `copies` of those of `line`, and tell CMake what it asks."""
    if not any(names_architecture(flag, toolkit) for flag in flags):
        flags = [*architecture_flags(toolkit, asked), *flags]
    flags = _with_system_headers(flags, [os.path.join(home, "include"), toolkit.folder("include")])
    if line.is_linking:
        flags += [f"-L{toolkit.library_folder()}", f"-l{toolkit.runtime}"]
        if "-v" in flags:
            inputs = [line.flags[at] for at in line.inputs]
            print(*cmake.told(home, toolkit, inputs, line.output), sep="\n", file=sys.stderr)
    return run([toolkit.compiler_path(), *flags], copies, flags)


def _with_system_headers(flags: Sequence[str], folders: Sequence[str]) -> list[str]:
    """`flags` with the toolkit's headers searched last, as with nvcc, and as system headers, which cause no warnings."""
    own = {f"-I{os.path.realpath(folder)}" for folder in folders}
    kept = [flag for flag in flags if not (flag.startswith("-I") and f"-I{os.path.realpath(flag[2:])}" in own)]
    return [*kept, *(word for folder in folders[:1] for word in ("-isystem", folder))]


def ported(line: Line, home: str, toolkit: Toolkit, folder: str) -> Copies | None:
    """Port the inputs that are sources of a project; None where there are none, or where they have been ported already."""
    sources = [line.flags[at] for at in line.inputs if is_source(line.flags[at]) or line.language == toolkit.language]
    if not sources or all(map(_is_ported, sources)):
        return None
    others = [
        given for given in included([*line.flags, *of_environment()])[0] if _is_of_others(given, toolkit.language)
    ]
    apart = [home, toolkit.folder(), *others, *stable_include_dirs(toolkit)]
    compiled = of_build(sources, [], line.flags, apart)
    return port(compiled.files, folder, os.getcwd(), compiled.searched)


def _is_of_others(folder: str, language: str) -> bool:
    """Whether a folder has another package's headers: by one of them, or by those of PyTorch's that an adapter has translated."""
    if any(os.path.isfile(os.path.join(folder, name)) for name in _HEADERS_OF_OTHERS):
        return True
    return any(os.path.isdir(os.path.join(folder, root, language)) for root in ("c10", "ATen"))


def _is_ported(source: str) -> bool:
    """Whether a source is written for the accelerator, or lies in a tree that the porter has written."""
    if is_own_source(source):
        return True
    folders = Path(os.path.abspath(source)).parents
    return any((folder / MANIFEST).is_file() for folder in folders)


def run(command: list[str], copies: Copies | None, flags: Sequence[str]) -> int:
    sys.stdout.flush()
    if copies is None:
        return subprocess.run(command, check=False).returncode
    told = bool({"-M", "-MM"} & set(flags)) and "-MF" not in flags
    done = subprocess.run(command, stdout=subprocess.PIPE if told else None, check=False)
    if told:
        sys.stdout.write(_with_originals(os.fsdecode(done.stdout), copies))
    for file in _dependency_files(flags):
        if os.path.isfile(file):
            _rewrite(file, copies)
    if done.returncode != 0 and copies.notices:
        print(f"{_NOT_COMPILED}: {len(copies.notices)} of them are listed above", file=sys.stderr)
    return done.returncode


def _dependency_files(flags: Sequence[str]) -> Iterable[str]:
    if "-MF" in flags:
        yield flags[flags.index("-MF") + 1]
    elif joined := [flag[3:] for flag in flags if flag.startswith("-MF")]:
        yield joined[-1]
    elif {"-MD", "-MMD"} & set(flags):
        line = Line.of(list(flags))
        inputs = [os.path.basename(line.flags[at]) for at in line.inputs]
        yield from (os.path.splitext(name)[0] + ".d" for name in ([line.output] if line.output else inputs))


def _rewrite(file: str, copies: Copies) -> None:
    with open(file, encoding="utf-8", errors="surrogateescape") as stream:
        text = stream.read()
    with open(file, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(_with_originals(text, copies))


def _with_originals(text: str, copies: Copies) -> str:
    """Rules for make that name the user's files, because these are what changes, and not our copies."""
    copy_path = re.compile(re.escape(_for_make(copies.folder)) + r"(?:\\.|[^\s\\])*")
    origins = {_for_make(copy): _for_make(original) for copy, original in copies.origins().items()}

    def original(copy: re.Match[str]) -> str:
        # A source that names its headers by absolute paths reaches their copies through `..`.
        path = os.path.normpath(copy[0])
        return origins.get(path, path)

    return copy_path.sub(original, text)


def _for_make(path: str) -> str:
    """A path as compilers write it in rules for make."""
    return re.sub(r"([ #])", r"\\\1", path).replace("$", "$$")
