"""The machine below Python: driver, SDK, compilers, device nodes. Programs are asked only for what no file tells."""

from __future__ import annotations

import glob
import grp
import json
import os
import platform
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable

from torchada.base import settings
from torchada.tools.doctor.facts import Machine, Node

_NODES = ("dev/mtgpu.*", "dev/mtgpu[0-9]*", "dev/dri/renderD*")
_HOMES = ("MUSA_HOME", "MUSA_PATH")
_USUAL_HOME = "usr/local/musa"
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")
_LIMIT = 10.0  # seconds; these programs answer at once, or hang in the driver


def look(root: str = "/") -> Machine:
    """The machine whose files are below `root`. Programs are asked only for the machine that we run on."""
    home = next(filter(None, map(settings.of_others, _HOMES)), "") or os.path.join(root, _USUAL_HOME)
    home = home if os.path.isdir(home) else ""
    here = root == "/"
    return Machine(
        driver=_driver(root) or (_said(["mthreads-gmi"], r"Driver Version:\s*(\S+)") if here else ""),
        sdk=_sdk(home),
        home=home,
        compiler=_compiler(home),
        host_compiler=_host_compiler() if here else "",
        nodes=tuple(nodes(root)),
        system=f"{platform.system()} {platform.release()} {platform.machine()}, {_distribution()}",
    )


def nodes(root: str, user: int | None = None, groups: Iterable[int] | None = None) -> list[Node]:
    """The device nodes of the vendor; render nodes alone tell nothing, since every graphics card has them."""
    own = {*(os.getgroups() if groups is None else groups), os.getegid() if groups is None else -1}
    who = os.geteuid() if user is None else user
    paths = sorted({path for pattern in _NODES for path in glob.glob(os.path.join(glob.escape(root), pattern))})
    present = [_node(path, who, own) for path in paths]
    return present if any("mtgpu" in node.path for node in present) else []


def _node(path: str, user: int, groups: set[int]) -> Node:
    try:
        status = os.stat(path)
    except OSError:
        return Node(path, False, "")
    try:
        group = grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        group = str(status.st_gid)
    return Node(path, _may_use(status, user, groups), group)


def _may_use(status: os.stat_result, user: int, groups: set[int]) -> bool:
    """Whether the user may read and write, by the mode; an access list may say otherwise."""
    if user == 0:
        return True
    if status.st_uid == user:
        needed = stat.S_IRUSR | stat.S_IWUSR
    elif status.st_gid in groups:
        needed = stat.S_IRGRP | stat.S_IWGRP
    else:
        needed = stat.S_IROTH | stat.S_IWOTH
    return status.st_mode & needed == needed


def _driver(root: str) -> str:
    return _first_line(os.path.join(root, "sys/module/mtgpu/version"))


def _sdk(home: str) -> str:
    """The version of the SDK: of its own file, or of the macro in its header, which counts 5.1.0 as 50100."""
    if not home:
        return ""
    for name in ("version.json", "musa_toolkits_version.json"):
        try:
            with open(os.path.join(home, name), encoding="utf-8") as stream:
                match = _VERSION.search(json.dumps(json.load(stream)))
        except (OSError, ValueError, RecursionError):
            continue
        if match:
            return match[0].strip('",}')
    return _macro(os.path.join(home, "include", "musa.h"))


def _macro(header: str) -> str:
    try:
        with open(header, encoding="utf-8", errors="replace") as stream:
            match = re.search(r"^#\s*define\s+MUSA_VERSION\s+(\d+)", stream.read(1 << 22), re.MULTILINE)
    except OSError:
        return ""
    return version_of(match[1]) if match else ""


def version_of(number: str) -> str:
    """50100 as 5.1.0; anything else as it is."""
    if not number.isdigit() or len(number) < 5:
        return number
    value = int(number)
    return f"{value // 10000}.{value // 100 % 100}.{value % 100}"


def _compiler(home: str) -> str:
    path = os.path.join(home, "bin", "mcc") if home else ""
    return path if path and os.access(path, os.X_OK) else ""


def _host_compiler() -> str:
    """What the compiler says of itself that builds take: CXX may have options, and name what is started before the compiler."""
    from _torchada_cache import compilers

    command = compilers.find_cxx(settings.of_others("CXX"))
    return "" if command is None else _said([*command, "--version"], r"(.+)")


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.readline().strip()
    except OSError:
        return ""


def _said(command: list[str], pattern: str) -> str:
    """What a program says of itself; empty where it is not found, not to be trusted, or does not answer."""
    path = shutil.which(command[0])
    if path is None or not _is_trusted(path):
        return ""
    try:
        done = subprocess.run(
            [path, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(pattern, done.stdout)
    return match[1].strip() if match else ""


def _is_trusted(path: str) -> bool:
    """Whether a program is the system's or ours: nothing that another user could have written is run."""
    real = os.path.realpath(path)
    try:
        states = [os.stat(place) for place in (real, os.path.dirname(real))]
    except OSError:
        return False
    return os.path.isabs(path) and all(
        state.st_uid in (0, os.geteuid()) and not state.st_mode & stat.S_IWOTH for state in states
    )
