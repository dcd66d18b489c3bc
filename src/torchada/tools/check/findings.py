"""What `torchada check` finds, and the rules by which it does."""

from __future__ import annotations

from typing import NamedTuple

_LONGEST = 200  # characters of a source line that are shown
_INDENTED = 10_000  # how far to the right a line may begin


class Rule(NamedTuple):
    """What a rule looks for, and what to do about it."""

    looks_for: str
    advice: str


API, DEVICE, QUESTION = "cuda-api", "device-name", "view-question"
IMPORT, REQUIREMENT, PROGRAM = "nvidia-import", "nvidia-requirement", "nvidia-program"
SOURCE, KERNEL, UNREADABLE = "cuda-source", "triton-kernel", "not-read"

RULES = {
    API: Rule("A use of an API of CUDA, through any alias", "What is unsupported needs another way; see the message."),
    DEVICE: Rule("A CUDA device or device type named in a string", "Nothing: the name is translated."),
    QUESTION: Rule(
        "A question about the device, whose answer depends on who asks",
        "Look whether the branch that this package takes is right; `torchada views` says what it sees.",
    ),
    IMPORT: Rule("An import of a package that works on NVIDIA's devices alone", "See the message for what stands in."),
    REQUIREMENT: Rule(
        "A requirement for NVIDIA's devices", "Leave it out of an environment for MUSA; see the message."
    ),
    PROGRAM: Rule("A program of NVIDIA's that is started, or read from", "See the message for the vendor's program."),
    SOURCE: Rule("A place in a CUDA source that cannot be ported by itself", "Port it by hand; see `torchada port`."),
    KERNEL: Rule("A kernel in Triton", "It needs a Triton that compiles for MUSA."),
    UNREADABLE: Rule(
        "A file that could not be read as what it is", "Look at it by hand: what it uses may be incomplete."
    ),
}


class Finding(NamedTuple):
    """One place. `line` and `column` count from 1; `end` is the column behind it; `kind` is how an API is answered, else empty.

    `name` is what was found, in the words of its library; `to` is what answers it; `view` is who sees CUDA ("cuda", or "musa").
    """

    rule: str
    severity: str
    name: str
    message: str
    file: str
    line: int = 1
    column: int = 1
    end: int = 1
    kind: str = ""
    to: str = ""
    view: str = ""
    source: str = ""


def beginning(line: str) -> str:
    """What is shown of a source line. It takes the same time for a line of any length, which may have any number of findings."""
    return line[:_INDENTED].strip()[:_LONGEST]
