"""The way out of errors that end programs, where one is known: by the text of the error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from torchada.report.explanations import address

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend

_SEEN = 10  # exceptions of a chain of causes


class Hint(NamedTuple):
    """`sign`: what the text of an error contains, a regular expression; `way`: what to do, with {} for names of the backend."""

    sign: str
    way: str


HINTS = (
    Hint(
        r"unsupported (?:tensor )?(?:data ?)?d?type|only support Float32|not implemented for '(?:Double|Half|Char|Short|Complex)",
        "{adapter} refuses this data type; float32 and bfloat16 are computed on the device, and many of the others on the CPU, "
        "unless TORCHADA_ALL_DTYPES=0 or TORCHADA_CPU_FALLBACK=refuse is set",
    ),
    Hint(
        r"connectFullMesh|no socket interface found|timed out connecting|Call to connect returned",
        "the processes do not reach each other: NCCL_SOCKET_IFNAME names the network's interface to {library}, GLOO_SOCKET_IFNAME "
        "names it to Gloo, which the simulator's groups use",
    ),
    Hint(
        r"no \w+-capable device|No \w+ GPUs are available",
        "`torchada doctor` says whether the driver, the device nodes or a variable is why there is no device",
    ),
    Hint(
        r"invalid device ordinal",
        "there are fewer devices than the program asks for: see torch.cuda.device_count(), CUDA_VISIBLE_DEVICES and {visible}",
    ),
    Hint(
        r"environment variable is not set\. Please set it to your \w+ install root|toolkit found, and CUDA extensions are built",
        "{home} names the folder of the toolkit; `torchada doctor` says which one is seen",
    ),
    Hint(
        r"lib(?:cudart|cublas|cudnn|cufft|curand|cusparse|nvrtc|c10_cuda|torch_cuda)\w*\.so[.\d]*: cannot open shared object",
        f"this package was compiled for CUDA: build it from its sources, as {address('how-to/extensions.md')} says",
    ),
)


def way_out(error: BaseException, backend: Backend) -> str:
    """What to do about an error, or about what caused it; empty where that is not known."""
    for text in _texts(error):
        for hint in HINTS:
            if re.search(hint.sign, text, re.IGNORECASE):
                return hint.way.format(**_names(backend))
    return ""


def _texts(error: BaseException | None) -> list[str]:
    texts: list[str] = []
    while error is not None and len(texts) < _SEEN:
        texts.append(str(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return texts


def _names(backend: Backend) -> dict[str, str]:
    return {
        "adapter": backend.adapter,
        "library": backend.collectives.names.get("nccl", "").upper(),
        "visible": backend.visible_devices,
        "home": backend.build.home if backend.build else "the toolkit's variable",
    }
