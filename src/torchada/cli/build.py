"""`torchada build cmake ...`: a build command, in an environment in which it finds CUDA's compiler and PyTorch with a device.

A setup.py with CUDAExtension needs nothing of this. CMake, make and meson look for CUDA themselves, and ask the environment.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence

from torchada.base.processes import NOT_FROM_HERE
from torchada.cli.command import Command

_OWN = ("-h", "--help", "-q", "--quiet", "-v", "--verbose", "--simulate", "--print-env")
_SIMULATED = {"TORCHADA_SIMULATE": "1"}
# A program that sees CUDA is told what stands in for it.
_ASKED = """
import json, torch
from torch.utils import cpp_extension
print(json.dumps([cpp_extension.CUDA_HOME, torch.utils.cmake_prefix_path]))
"""
_NO_TOOLKIT = (
    "there is no toolkit to build with: CUDA_HOME is None. Install the accelerator's, or set the variable that names its folder "
    "(MUSA_HOME); `torchada doctor` says what is wrong here, and --simulate builds for the simulator"
)
_ISOLATED = (
    "pip builds in an environment of its own, with what the project lists under `requires`: a torch from PyPI, and neither the "
    "accelerator's adapter nor torchada. Install these requirements, and add --no-build-isolation"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--simulate", action="store_true", help="use the simulator where no real torch_musa is installed"
    )
    parser.add_argument(
        "--print-env", action="store_true", help="print the variables as lines for a shell, and start nothing"
    )
    parser.add_argument("words", nargs="*", metavar="COMMAND", help="cmake, make, meson, pip ..., and its arguments")


def split(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own options, and the build's command."""
    first = next((at for at, word in enumerate(given) if word not in _OWN), len(given))
    return list(given[:first]), list(given[first + (list(given[first : first + 1]) == ["--"]) :])


def build(options: argparse.Namespace) -> int:
    """Become the command; returns only where there is none to become."""
    if not options.program and not options.print_env:
        options.parser.error("nothing to build with: expected cmake, make, meson or pip, and its arguments")
    if options.simulate:
        os.environ.update(_SIMULATED)
    try:
        added = environment()
    except ValueError as error:
        print(f"torchada build: {error}", file=sys.stderr)
        return 2
    assignments = [f"{name}={shlex.quote(value)}" for name, value in added.items()]
    if options.print_env:
        print("\n".join(f"export {assignment}" for assignment in assignments))
        return 0
    return _become(options, added, assignments)


def _become(options: argparse.Namespace, added: dict[str, str], assignments: list[str]) -> int:
    os.environ.update(added)
    program = shutil.which(options.program[0])
    if program is None:
        print(f"torchada build: there is no program {options.program[0]!r}", file=sys.stderr)
        return 2
    if options.verbosity > 0:
        print("torchada build:", *assignments, shlex.join(options.program), file=sys.stderr)
    if options.verbosity >= 0 and _is_isolated(options.program):
        print(f"torchada build: {_ISOLATED}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(program, options.program)
    except OSError as error:
        if error.errno == errno.ENOEXEC:  # a script that names no interpreter is the shell's, as everywhere
            os.execv("/bin/sh", ["sh", program, *options.program[1:]])
        print(f"torchada build: {program} cannot be started: {error.strerror}", file=sys.stderr)
        return 2


def _is_isolated(command: Sequence[str]) -> bool:
    words = [os.path.basename(command[0]), *command[1:]]
    is_pip = words[0].startswith("pip") or words[1:3] == ["-m", "pip"]
    return is_pip and bool({"install", "wheel"} & set(words)) and "--no-build-isolation" not in words


def environment() -> dict[str, str]:
    """The variables by which builds find CUDA; ValueError, with what to do, where there is nothing to build with."""
    from torchada.building.cuda_home_files import CMAKE_RULES

    home, package = _told()
    nvcc = os.path.join(home, "bin", "nvcc")
    tried = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise ValueError(tried.stderr.strip())
    return {
        **dict.fromkeys(("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"), home),
        **dict.fromkeys(("CUDACXX", "NVCC"), nvcc),
        "Torch_ROOT": package,
        "CMAKE_PREFIX_PATH": _before("CMAKE_PREFIX_PATH", package),
        "CMAKE_TOOLCHAIN_FILE": os.environ.get("CMAKE_TOOLCHAIN_FILE") or os.path.join(home, CMAKE_RULES),
        "PATH": _before("PATH", os.path.dirname(nvcc)),
    }


def _before(name: str, folder: str) -> str:
    """`folder` before what a variable has."""
    return os.pathsep.join(filter(None, [folder, os.environ.get(name)]))


def _told() -> tuple[str, str]:
    """CUDA_HOME and the folder of PyTorch's package for CMake, as a program gets them."""
    done = subprocess.run(
        [sys.executable, "-c", NOT_FROM_HERE + _ASKED], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise ValueError("torch.utils.cpp_extension cannot be imported; the error is above")
    home, package = json.loads(done.stdout.splitlines()[-1])
    if home is None:
        raise ValueError(_NO_TOOLKIT)
    return home, package


COMMAND = Command(
    summary="run a build (cmake, make, meson, pip) that finds CUDA's compiler and PyTorch's package",
    description="Run a build (cmake, make, meson, pip) in an environment in which it finds CUDA's compiler, for which torchada's "
    "stands in, and PyTorch's package for CMake. A setup.py with CUDAExtension needs none of it. The exit code is the command's; "
    "2: there is nothing to build with.",
    quiet="say nothing but errors",
    verbose="print the variables and the command first",
    arguments=arguments,
    act=build,
    usage="torchada build [-h] [-q | -v] [--simulate] (--print-env | COMMAND [args...])",
    split=split,
)
