"""What `torchada check` finds, and the rules by which it does."""

from __future__ import annotations

from typing import NamedTuple

_LONGEST = 200  # characters of a source line that are shown
_INDENTED = 10_000  # how far to the right a line may begin


class Rule(NamedTuple):
    """What a rule looks for, why that matters, and what to do about it."""

    looks_for: str
    advice: str
    why: str


API, DEVICE, QUESTION = "cuda-api", "device-name", "view-question"
IMPORT, REQUIREMENT, PROGRAM = "nvidia-import", "nvidia-requirement", "nvidia-program"
SOURCE, KERNEL, UNREADABLE = "cuda-source", "triton-kernel", "not-read"
CAPABILITY, OPERATOR, VARIABLE = "capability-comparison", "vendor-operator", "cuda-variable"
OTHERS, BUILD, SUPPRESSION = "nvidia-use", "cuda-build", "suppression"
DEPENDENCY, MODEL = "dependency-use", "model-memory"

# The codes that users write into comments and settings: a rule keeps its name, and one that is given up keeps being accepted.
RULES = {
    API: Rule(
        "A use of an API of CUDA, through any alias",
        "What is unsupported needs another way; see the message.",
        "Most of torch.cuda is answered by the backend or by torchada, and some of it by an error that names it.",
    ),
    DEVICE: Rule(
        "A CUDA device or device type named in a string",
        "Nothing: the name is translated.",
        'It shows where a program chooses its device; "cuda" means the MUSA device.',
    ),
    QUESTION: Rule(
        "A question about the device, whose answer depends on who asks",
        "Look whether the branch that this package takes is right; `torchada views` says what it sees.",
        "A package that mentions MUSA gets the backend's answer, any other CUDA's.",
    ),
    IMPORT: Rule(
        "An import of a package that works on NVIDIA's devices alone",
        "See the message for what stands in.",
        "The import fails on a machine without NVIDIA's libraries, or what it imports does when it is used. "
        "In a `try` that goes on without it, or within a function, it is a warning: the program may do without.",
    ),
    REQUIREMENT: Rule(
        "A requirement for NVIDIA's devices",
        "Leave it out of an environment for MUSA; see the message.",
        "It cannot be installed, or replaces what the vendor has built.",
    ),
    PROGRAM: Rule(
        "A program of NVIDIA's that is started, or read from",
        "See the message for the vendor's program.",
        "It is not there on a machine with MUSA devices, or prints other text.",
    ),
    SOURCE: Rule(
        "A place in a CUDA source that cannot be ported by itself",
        "Port it by hand; see `torchada port`.",
        "The vendor's compiler does not take it, or it would mean something else.",
    ),
    CAPABILITY: Rule(
        "A comparison of the chip's compute capability",
        "Ask for what the code needs (a data type, a function), or set TORCHADA_CUDA_CAPABILITY.",
        "The chip's own numbers are smaller than NVIDIA's, so the way for older chips is taken, without a word.",
    ),
    OPERATOR: Rule(
        "An operator that torch_musa refuses, or does not compute on the device",
        "Look whether it is called often; the page on limits names all of them.",
        "It is computed on the CPU, with copies there and back, or ends in an error.",
    ),
    VARIABLE: Rule(
        "An environment variable of CUDA's, NCCL's or their libraries'",
        "Nothing for those that are handed on; the page on the environment lists them.",
        "What has a counterpart is handed on under its name, and what has none has no effect.",
    ),
    OTHERS: Rule(
        "A use of NVIDIA's devices through another library, such as onnxruntime or faiss",
        "Take the library's way for the CPU, or PyTorch.",
        "torchada redirects PyTorch's use of CUDA and no other.",
    ),
    BUILD: Rule(
        "A build that asks for CUDA: CMake, images and runtimes of containers",
        "See the message for what the vendor has in its place.",
        "The compiler, image or runtime is NVIDIA's.",
    ),
    DEPENDENCY: Rule(
        "A call of an installed package that leads to what does not work there, or is to be looked at (`--dependencies`)",
        "Look whether the call takes that way; an option of the package, or another version, may take another.",
        "The project itself names nothing of CUDA's there, and its dependency does.",
    ),
    MODEL: Rule(
        "A model that the program states by its name or its numbers",
        "Compare it with the memory of the device, for as many devices as share the model.",
        "Its weights, gradients and the optimizer's state take memory before the first activation does.",
    ),
    SUPPRESSION: Rule(
        "A comment `torchada: ignore` that suppresses nothing, or names no rule",
        "Remove it, or correct the code.",
        "Whoever reads it believes that something is suppressed.",
    ),
    KERNEL: Rule(
        "A kernel in Triton",
        "It needs a Triton that compiles for MUSA.",
        "PyPI's Triton has no backend for MUSA devices.",
    ),
    UNREADABLE: Rule(
        "A file that could not be read as what it is",
        "Look at it by hand: what it uses may be incomplete.",
        "What stands in it was searched line by line, or not at all.",
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
