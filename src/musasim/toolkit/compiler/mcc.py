"""The simulated mcc: preprocesses with the host's C++ compiler, rewrites kernels and launches, compiles and links."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from musasim.base import settings
from musasim.base.toolchain import find_compiler
from musasim.errors import MusasimBuildError
from musasim.toolkit.compiler import counted, cpu_library, device_symbols, host_flags, one_pass, precompiled
from musasim.toolkit.compiler.gcc_errors import compile_as_clang
from musasim.toolkit.compiler.options import Input, Options, UsageError, parse
from musasim.toolkit.compiler.precompiled import compile_with_headers
from musasim.toolkit.compiler.rewrite import RewriteError, device_bodies, rewrite

VERSION = "5.1.0"
_CHECKERS = ("MUSASIM_MEMCHECK", "MUSASIM_STREAMCHECK")
_THREADS = "MUSASIM_THREADS"
_DEFINES = ["-D__MUSACC__=1", "-D__MUSA__=1", "-D__MUSASIM__=1", "-DMUSA_VERSION=50100"]

# These options change the text that -E shows. Text that will be compiled needs its line markers.
_OF_PREPROCESSING = ("-P", "-C", "-dM")


def main(arguments: list[str]) -> int:
    """Return the exit status: 0 for success, 1 for failure (the reasons are on stderr)."""
    try:
        options = parse(arguments)
        if options.show_version or (options.verbose and not options.inputs):
            print(_version(), file=sys.stdout if options.show_version else sys.stderr)
            return 0
        settings.tell((*_CHECKERS, _THREADS, precompiled.VARIABLE))
        return _Driver(options).run()
    except (UsageError, RewriteError, MusasimBuildError) as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"mcc: error: {error}", file=sys.stderr)
    except subprocess.CalledProcessError as error:  # the compiler has printed the reason
        return 1 if error.returncode >= 0 else 128 - error.returncode
    except KeyboardInterrupt:
        return 130
    return 1


def _version() -> str:
    return (
        f"mcc version {VERSION} (simulated by musasim: kernels are compiled for this machine's processor)\n"
        f"Target: {os.uname().machine}-unknown-linux-gnu\n"
        "Thread model: posix\n"
        f"InstalledDir: {_home() / 'bin'}"
    )


def _home() -> Path:
    """Return the toolkit that contains this program."""
    return Path(sys.argv[0]).resolve().parent.parent


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)


class _Driver:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._compiler = find_compiler()
        self._is_clang = "clang" in Path(self._compiler[0]).resolve().name
        self._include = _home() / "include"

    def run(self) -> int:
        options = self._options
        if options.verbose:
            print(_version(), file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="mcc-") as folder:
            sources = [source for source in options.inputs if source.language != "link"]
            if options.mode in ("link", "device-link"):
                (self._link if options.mode == "link" else self._link_device)(Path(folder))
                return 0
            for source in sources:
                self._one(source, Path(folder))
        return 0

    def _one(self, source: Input, folder: Path) -> None:
        mode = self._options.mode
        output = self._options.output
        if mode in ("preprocess", "depend"):
            kept = [word for word in self._options.compile if word in _OF_PREPROCESSING]
            flags = self._flags() if source.language == "musa" else []
            command = [*self._front(source), *self._dependencies(source, None), *flags, *kept, "-E", *_to(output)]
            self._execute(command)
        else:
            suffix = ".s" if mode == "assemble" else ".o"
            self._compile(source, output or Path(source.path).stem + suffix, folder)

    def _link(self, folder: Path) -> None:
        objects: dict[str, str] = {}
        for number, source in enumerate(self._options.inputs):
            if source.language == "link":
                objects[f"<input {number}>"] = source.path
            else:
                objects[f"<input {number}>"] = str(folder / f"{number}-{Path(source.path).stem}.o")
                self._compile(source, objects[f"<input {number}>"], folder)
        library = _home() / "lib"
        words = [objects.get(word, word) for word in self._options.link]
        # Programs find the runtime in the toolkit. A process that has loaded one already keeps it.
        search = [f"-L{library}", f"-Wl,-rpath,{library}", *cpu_library.needed_by(words)]
        self._execute([*self._compiler, *words, *search, *_to(self._options.output)])

    def _link_device(self, folder: Path) -> None:
        """Write an object with nothing in it: kernels are functions of the host here, which its linker links."""
        nothing = folder / "nothing.c"
        nothing.touch()
        self._execute(
            [*self._compiler, "-x", "c", "-fPIC", "-c", str(nothing), "-o", self._options.output or "a_dlink.o"]
        )

    # --- one source ----------------------------------------------------------------------------------------------

    def _compile(self, source: Input, output: str, folder: Path) -> None:
        if source.language != "musa":
            mode = {"assemble": ["-S"], "check": ["-fsyntax-only"]}.get(self._options.mode, ["-c"])
            written = [] if self._options.mode == "check" else ["-o", output]
            flags = [word for word in self._options.compile if word not in _OF_PREPROCESSING]
            self._execute([*self._front(source), *self._dependencies(source, output), *flags, *mode, *written])
            return
        plain = folder / "kernels.ii"
        self._execute(
            [*self._front(source), *self._dependencies(source, output), *self._flags(), "-E", "-o", str(plain)]
        )
        if self._options.dry:
            return
        text = plain.read_text(encoding="utf-8", errors="surrogateescape")
        relocatable = self._options.relocatable
        self._tell_of_one_pass(source, text, folder)
        text = rewrite(text, self._architectures(), source.path, self._is_checked(), relocatable, _is_threaded())
        plain.write_text(text, encoding="utf-8", errors="surrogateescape")
        counting = self._counting(source, output)
        made = str(counting or output)
        self._compile_rewritten(plain, text, source, made, [] if counting is None else [counted.OPTION])
        # Builds that only try a flag compile to /dev/null.
        if self._makes_object() and not relocatable and Path(made).is_file():
            device_symbols.keep_apart(Path(made), text)
        if counting is not None:
            counted.finish(self._compiler, counting, output)

    def _tell_of_one_pass(self, source: Input, text: str, folder: Path) -> None:
        """Name the host's code that would be another in a pass of its own."""
        if not self._makes_object() or not one_pass.asks(text):
            return
        plain = folder / "host.ii"
        command = [*self._front(source), *self._flags(), f"-U{one_pass.MACRO}", "-E", "-o", str(plain)]
        if subprocess.run(command, capture_output=True).returncode == 0:
            without = plain.read_text(encoding="utf-8", errors="surrogateescape")
            with contextlib.suppress(RewriteError):  # the device's text is looked at next, and its errors are told
                for note in one_pass.notes(text, without, device_bodies):
                    print(note, file=sys.stderr)

    def _compile_rewritten(self, plain: Path, text: str, source: Input, output: str, more: list[str]) -> None:
        mode = {"assemble": ["-S"], "check": ["-fsyntax-only"]}.get(self._options.mode, ["-c"])
        written = [] if self._options.mode == "check" else ["-o", output]
        command = [*self._compiler, "-x", "c++-cpp-output", *self._flags(), *more, *mode, *written]
        plainly = not self._makes_object() or self._is_clang or self._options.verbose or more
        if plainly or not compile_with_headers(command, text, source.path, plain.parent):
            self._execute([*command, str(plain)], _run if self._is_clang else compile_as_clang)

    def _makes_object(self) -> bool:
        return self._options.mode not in ("assemble", "check")

    def _counting(self, source: Input, output: str) -> Path | None:
        """The object file that counts lines, from which `output` is made; None where nobody counts."""
        if self._is_clang or not self._makes_object() or output == os.devnull:
            return None
        return counted.object_file(source.path, output)

    def _is_checked(self) -> bool:
        return _is_checked() and not self._is_clang

    def _architectures(self) -> str:
        return " ".join(
            str(architecture) for architecture in self._options.architectures or [self._options.architecture]
        )

    def _front(self, source: Input) -> list[str]:
        """Return the command up to the preprocessor's options, and the source."""
        options = self._options
        words = [*self._compiler, *options.preprocess]
        if source.language == "musa":
            words += [*_DEFINES, f"-D__MUSA_ARCH__={options.architecture * 10}", self._standard(), "-D_GNU_SOURCE"]
            words += ["-D__MUSASIM_MEMCHECK__"] if _is_checked() else []
            words += ["-D__MUSASIM_THREADS__"] if _is_threaded() else []
            words += ["-include", "musa_runtime.h"]
        elif options.standard is not None:
            words.append(options.standard)
        language = "c++" if source.language == "musa" else source.language
        return [*words, "-isystem", str(self._include), "-x", language, source.path]

    def _standard(self) -> str:
        return self._options.standard or "-std=c++17"

    def _flags(self) -> list[str]:
        """Return the compiler's own flags. Pragmas and attributes are for the device, and clang's -Wall lacks sign-compare."""
        quiet = ["-Wno-unknown-pragmas", "-Wno-attributes", "-Wno-sign-compare"]
        if not self._is_clang:
            # Otherwise libraries that define a template kernel of the same name would share its __shared__ variables.
            quiet.append("-fno-gnu-unique")
        words = [word for word in self._options.compile if word not in _OF_PREPROCESSING]
        checked = host_flags.checking() if self._is_checked() else []
        return [
            self._standard(),
            *device_symbols.SECTIONS,
            *host_flags.options(self._is_clang),
            *words,
            *quiet,
            *checked,
        ]

    def _dependencies(self, source: Input, output: str | None) -> list[str]:
        """Return -MD and similar options, with the names that a compiler would use that does everything in one step."""
        words = self._options.dependencies
        if not {"-MD", "-MMD"} & set(words) or self._options.mode == "depend":
            return list(words)
        target = self._options.output if self._options.mode != "link" and self._options.output else output
        target = target or Path(source.path).stem + ".o"
        added = []
        if "-MF" not in words:
            added += ["-MF", str(Path(target).with_suffix(".d"))]
        if not {"-MT", "-MQ"} & set(words):
            added += ["-MQ", target]
        return [*words, *added]

    def _execute(self, command: list[str], run: Callable[[list[str]], None] = _run) -> None:
        if self._options.verbose:
            print(" " + shlex.join(command), file=sys.stderr, flush=True)
        if not self._options.dry:
            run(command)


def _is_checked() -> bool:
    """Whether kernels are compiled so that the runtime can look at their accesses."""
    return any(map(settings.is_on, _CHECKERS))


def _is_threaded() -> bool:
    """Whether kernels are compiled so that their blocks may run at the same time, which the checkers cannot follow."""
    return settings.value(_THREADS, "1") != "1" and not _is_checked()


def _to(output: str | None) -> list[str]:
    return [] if output is None else ["-o", output]
