"""Which architectures to compile for.

A CUDA build names NVIDIA's architectures, which say nothing about the devices of this machine. So code is generated for the visible
devices, as for the adapter's own extensions, unless the adapter's variable lists others. Only where neither is available, each of
NVIDIA's architectures is replaced by the one that stands for it in guards (`torchada.porting.versions`).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence

from torchada.building.environment import variable
from torchada.building.errors import BuildError
from torchada.building.toolkit import Toolkit
from torchada.porting.versions import ARCHITECTURES

_NAMED = re.compile(r"(?:sm|compute|lto)_(\d+)[a-z]?")
_LISTED = re.compile(r"(\d+)\.(\d)[a-z]?(?:\+PTX)?")
KNOWN = tuple(str(own // 10) for own, _ in ARCHITECTURES)
_OWN = frozenset({*KNOWN, "32"})


def asked_by_flag(value: str) -> list[str]:
    """The numbers in the value of -arch, -code or -gencode: "arch=compute_80,code=sm_80" is 80, twice."""
    return _NAMED.findall(value)


def asked_by_list(value: str) -> list[str]:
    """The numbers in TORCH_CUDA_ARCH_LIST: "8.0;9.0+PTX" is 80 and 90."""
    return [major + minor for major, minor in _LISTED.findall(value)]


def counterpart(number: str) -> str:
    """The architecture that stands for sm_`number`; a number that a build has got from a device is returned unchanged."""
    if number in _OWN:
        return number
    wanted = int(number) * 10
    return KNOWN[max((at for at, (_, cuda) in enumerate(ARCHITECTURES) if cuda <= wanted), default=0)]


def names_architecture(flag: str, toolkit: Toolkit) -> bool:
    """Whether a flag of the accelerator's compiler names an architecture, by its own name or by clang's."""
    return flag.startswith((toolkit.arch_flag.split("{}")[0], "--cuda-gpu-arch="))


def listed_devices(toolkit: Toolkit) -> list[str]:
    """The architectures of this machine's devices, as the toolkit's own program lists them, in either of its output formats."""
    try:
        text = subprocess.run(
            [toolkit.folder("bin", toolkit.lister)], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    capabilities = re.findall(r"compute capability:\s*(\d+)\.(\d+)", text, re.IGNORECASE)
    major, minor = (re.findall(rf"^\s*{name}:\s*(\d+)", text, re.MULTILINE) for name in ("major", "minor"))
    return sorted({"".join(pair) for pair in (*capabilities, *zip(major, minor))})


def architectures(toolkit: Toolkit, asked: Iterable[str] = ()) -> list[str]:
    """The architectures to compile for, such as ["22", "31"]; empty where none is known."""
    listed = variable(toolkit.arch_variable)
    if listed:
        return _parsed(listed, toolkit.arch_variable)
    own: Sequence[str] = sorted(set(toolkit.devices()))
    if own:
        return list(own)
    wanted = list(asked) or asked_by_list(variable("TORCH_CUDA_ARCH_LIST") or "")
    return sorted({counterpart(number) for number in wanted})


def flags(toolkit: Toolkit, asked: Iterable[str] = ()) -> list[str]:
    """The compiler's flags for these architectures."""
    return [toolkit.arch_flag.format(architecture) for architecture in architectures(toolkit, asked)]


def required_flags(toolkit: Toolkit, asked: Iterable[str] = ()) -> list[str]:
    """As `flags`, but raises BuildError where no architecture is known."""
    named = flags(toolkit, asked)
    if not named:
        raise BuildError(
            f"no {toolkit.name} device is visible to compile for; set {toolkit.arch_variable}, for example to {KNOWN[-1]}"
        )
    return named


def _parsed(listed: str, name: str) -> list[str]:
    architectures = []
    for word in re.split(r"[;,\s]+", listed.strip(";, ")):
        number = re.fullmatch(r"(?:mp_)?(\d+)(?:\.(\d))?", word)
        if number is None:
            raise BuildError(f"{name}={listed!r}: {word!r} names no architecture; expected numbers such as {KNOWN[-1]}")
        architectures.append(number[1] + (number[2] or ""))
    return sorted(set(architectures))
