"""What CUDA's profiler calls the rows of a timeline that the backend's calls otherwise: calls of the runtime, copies, collectives.

The backend's are those of the adapter's Kineto. Kernels keep their names, which each vendor's libraries choose, but for those of
collectives: tools tell communication from computation by NCCL's names for them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend

# PyTorch for CUDA records events by another function of the runtime.
_OTHER_FUNCTIONS = {"cudaEventRecord": "cudaEventRecordWithFlags"}
# What NCCL hands to its kernels from 2.22 on.
_ARGUMENTS = "(ncclDevKernelArgsStorage<4096ul>)"
# The types of NCCL's kernels that reduce, by the names that the older kernels had: signed integers are summed as unsigned ones.
_TYPES = {"half": "f16", "float": "f32", "double": "f64"}
_CATEGORY = re.compile(r'"cat": "privateuse1_(runtime|driver)"')


def row_as_cuda(backend: Backend) -> Callable[[str], str]:
    """A function that answers what CUDA calls a row."""
    renamings = _renamings(backend)

    def renamed(name: str) -> str:
        for pattern, to in renamings:
            name, count = pattern.subn(to, name, count=1)
            if count:
                return _OTHER_FUNCTIONS.get(name, name)
        return name

    return renamed


@lru_cache(maxsize=4)
def _renamings(backend: Backend) -> tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]:
    prefix = re.escape(backend.device_type)
    collectives = backend.collectives.names.get("nccl", "nccl") if backend.collectives is not None else "nccl"
    kernel = rf"^{re.escape(collectives)}Kernel_"
    return (
        (re.compile(rf"{kernel}SendRecv_.*"), f"ncclDevKernel_SendRecv{_ARGUMENTS}"),
        (re.compile(rf"{kernel}(AllGather|Broadcast)_.*"), rf"ncclDevKernel_\1_RING_LL{_ARGUMENTS}"),
        (re.compile(rf"{kernel}(\w+?)_([A-Z]+)_[A-Z0-9]+_[A-Za-z]+_(\w+)(?:\(.*)?$"), _reducing_kernel),
        (re.compile(rf"^{prefix}(?=[A-Z]\w*$)"), "cuda"),
        (re.compile(rf"^{prefix[:2]}(?=Launch\w*$)"), "cu"),  # of the driver, whose functions begin with two letters
        (re.compile(r"^Memcpy\d (?=[ADHP]to[ADHP] )"), "Memcpy "),
        (re.compile(rf"^{re.escape(collectives)}:(?=\w)"), "nccl:"),
    )


def _reducing_kernel(kernel: re.Match[str]) -> str:
    """NCCL has one for each type, which is named after the sum and the protocol LL, whatever it does in the end."""
    work, algorithm, type_name = kernel.groups()
    integer = re.fullmatch(r"u?int(\d+)_t", type_name)
    bits = f"u{integer[1]}" if integer else "bf16" if "bfloat16" in type_name else _TYPES.get(type_name, type_name)
    return f"ncclDevKernel_{work}_Sum_{bits}_{'TREE' if algorithm == 'TREE' else 'RING'}_LL{_ARGUMENTS}"


def table_as_cuda(backend: Backend) -> Callable[[str], str]:
    """A function for texts that name rows between spaces."""
    row = row_as_cuda(backend)
    from torchada.redirect.backend_words import as_cuda

    device = as_cuda(backend)

    def renamed(text: str) -> str:
        return device("\n".join(_with_row(line, row) for line in text.split("\n")))

    return renamed


def _with_row(line: str, row: Callable[[str], str]) -> str:
    """A line of a table, whose columns keep their widths where the new name has room."""
    name, gap, rest = line.strip().partition("  ")
    new = row(name)
    if new == name:
        return line
    start = line.index(name)
    lead = max(start - (len(new) - len(name)), 0)
    return " " * lead + new + gap + rest + line[len(line.rstrip()) :]


def file_as_cuda(backend: Backend, path: str) -> None:
    """Rename the rows in a trace that Kineto has written to `path`."""
    row = row_as_cuda(backend)
    changed = f"{path}.as_cuda"
    with open(path, encoding="utf-8", newline="") as source, open(changed, "w", encoding="utf-8", newline="") as result:
        result.writelines(_event_as_cuda(line, row) for line in source)
    os.replace(changed, path)


_NAME = re.compile(r'(?<="name": ")[^"\\]+(?=")')


def _event_as_cuda(line: str, row: Callable[[str], str]) -> str:
    return _NAME.sub(lambda match: row(match[0]), _CATEGORY.sub(r'"cat": "cuda_\1"', line))


def kinds_as_backend(kinds: object) -> object:
    """The kinds of records that a program asks for by CUDA's names, by the backend's."""
    if not isinstance(kinds, (list, tuple, set, frozenset)):
        return kinds
    return [
        re.sub(r"(?i)^cuda(?=_(runtime|driver)$)", _like, kind) if isinstance(kind, str) else kind for kind in kinds
    ]


def _like(match: re.Match[str]) -> str:
    return "PRIVATEUSE1" if match[0].isupper() else "privateuse1"
