"""Checks of what is around: start-up file, mechanism, variables, driver, SDK, compiler, device nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchada.report.severity import ERROR, NOTE, OK, WARNING
from torchada.report.text import counted
from torchada.tools.doctor.facts import Facts
from torchada.tools.doctor.results import Result


def startup(facts: Facts) -> Iterator[Result]:
    """The start-up file: one, readable, and in force."""
    broken = [file for file in facts.startup if file.fault]
    fine = [file for file in facts.startup if not file.fault]
    reinstall = "pip install --force-reinstall --no-deps torchada"
    for file in broken:
        cure = f"remove it, and {reinstall}"
        yield Result("startup-broken", ERROR, "start-up file", f"{file.path}: {file.fault}", cure)
    folders = {file.path.rpartition("/")[0] for file in fine}
    if len(folders) > 1:
        text = f"there are {len(folders)}: {', '.join(file.path for file in fine)}"
        cure = "keep the one beside the torchada that is imported: pip uninstall torchada in the other place"
        yield Result("startup-twice", WARNING, "start-up file", text, cure)
    elif fine:
        yield Result("startup", OK, "start-up file", fine[0].path)
    elif not broken:
        yield from _no_startup_file(facts, reinstall)


def _no_startup_file(facts: Facts, reinstall: str) -> Iterator[Result]:
    named = facts.status.answer.get("startup", {}).get("file")
    if named:
        yield Result("startup", OK, "start-up file", f"{named}, by PYTHONPATH")
        return
    text = "there is none: without `import torchada` or `torchada run`, nothing is redirected"
    yield Result("startup-absent", WARNING, "start-up file", text, reinstall)


def redirection(facts: Facts) -> Iterator[Result]:
    """What torchada does in a process like this one."""
    if not facts.status.ok:
        if facts.torch.ok:
            cure = "see the whole error: torchada status --probe"
            yield Result(
                "status-broken", ERROR, "redirection", f"importing torch with torchada: {facts.status.error}", cure
            )
        return
    report = facts.status.answer
    for problem in report.get("problems", []):
        yield _problem(str(problem))
    for area in report.get("areas", []):
        if area.get("outcome") == "failed":
            text = f"the area {area['name']} failed: {area['reason']}"
            cure = f"report it; until then, TORCHADA_SKIP_AREAS={area['name']} leaves it alone"
            yield Result("area-failed", ERROR, "redirection", text, cure)
    platform, strings = report["platform"], report["device_strings"]
    yield Result("platform", OK, "platform", f"{platform['name']}: {platform['why']}")
    if report["active"]:
        severity = OK if strings["mechanism"] == "native" else NOTE
        yield Result("mechanism", severity, "mechanism", f"{strings['mechanism']}: {strings['why']}")


_AUTOLOAD = re.compile(r"Failed to load the backend extension: (\w+)")


def _problem(text: str) -> Result:
    autoload = _AUTOLOAD.search(text)
    if autoload is None:
        return Result("problem", ERROR, "redirection", text, "see `torchada status --probe`, and report it")
    name = autoload[1]
    text = f"`import torch` fails: torch loads {name} by itself wherever it is installed, and {name} cannot be loaded"
    cure = f"mend {name}, or pip uninstall {name}; TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps torch from loading it"
    return Result("autoload", ERROR, "torch", text, cure)


def variables(facts: Facts) -> Iterator[Result]:
    """Variables that switch something off, or that nobody understands."""
    if facts.variables.get("TORCHADA_DISABLE", "").strip().lower() in ("1", "true", "yes", "on"):
        text = "TORCHADA_DISABLE is set: nothing is redirected"
        yield Result("disabled", WARNING, "variables", text, "unset TORCHADA_DISABLE")
    environment = facts.status.answer.get("environment", {})
    for name in environment.get("unknown", []):
        cure = f"unset {name}; docs/reference/environment.md lists them all"
        yield Result("variable-unknown", WARNING, "variables", f"{name} is no variable of torchada", cure)
    for entry in environment.get("not_understood", []):
        cure = "docs/reference/environment.md says which values there are"
        yield Result("variable-not-understood", WARNING, "variables", f"{entry} is not understood, and ignored", cure)


def machine(facts: Facts) -> Iterator[Result]:
    """Driver, SDK and compilers; what is missing matters only where a device is used, or an extension built."""
    known = facts.machine
    wanted = facts.has_musa
    if known.driver:
        yield Result("driver", OK, "driver", known.driver)
    elif wanted:
        cure = "install the driver of the release that the SDK belongs to; in a container, it is the host's"
        yield Result("driver-absent", WARNING, "driver", "no driver of Moore Threads is loaded", cure)
    if known.home:
        yield Result("sdk", OK, "MUSA SDK", f"{known.sdk or 'of unknown version'}, {known.home}")
        if not known.compiler:
            cure = f"install the toolkit of the SDK, or set MUSA_HOME to the folder that has it ({known.home} has not)"
            yield Result(
                "compiler-absent", WARNING, "compiler", "mcc is missing: CUDA extensions cannot be built", cure
            )
        else:
            yield Result("compiler", OK, "compiler", known.compiler)
    elif wanted:
        cure = "install the MUSA SDK, or set MUSA_HOME to its folder"
        yield Result("sdk-absent", WARNING, "MUSA SDK", "it is not found", cure)
    if known.host_compiler:
        yield Result("host-compiler", OK, "C++ compiler", known.host_compiler)
    else:
        cure = "install g++: without it, device strings are translated in Python, which is slower"
        yield Result("host-compiler-absent", NOTE, "C++ compiler", "none is found", cure)


def nodes(facts: Facts) -> Iterator[Result]:
    """The device nodes, and whether this user may use them."""
    present = facts.machine.nodes
    closed = [node for node in present if not node.usable]
    if closed:
        groups = sorted({node.group for node in closed if node.group not in ("", "root")})
        paths = ", ".join(node.path for node in closed)
        cure = (
            f"sudo usermod -aG {','.join(groups)} $USER, and log in again; in a container, --group-add"
            if groups
            else "let the driver's rules of udev give them a group: reinstall the driver; in a container, --device"
        )
        text = f"{counted(len(closed), 'device node')} may not be read and written: {paths}"
        yield Result("nodes-closed", ERROR, "device nodes", text, cure)
    elif present:
        yield Result("nodes", OK, "device nodes", ", ".join(node.path for node in present))
    elif facts.has_musa:
        cure = "load the driver (lsmod | grep mtgpu); in a container, start it with --env MTHREADS_VISIBLE_DEVICES=all"
        yield Result("nodes-absent", ERROR, "device nodes", "there is no /dev/mtgpu*", cure)
