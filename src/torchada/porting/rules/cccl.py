"""Thrust, CUB, libcu++ and CUTLASS: thrust::cuda::par, cuda::std, cutlass::half_t, CUTLASS_DEVICE.

Thrust's and CUB's own names are the same on MUSA. The namespace `cuda` is the business of
`torchada.porting.by_context`: alone it is an ordinary word.
"""

from torchada.porting.rules.library import Library

_HEADERS = (
    "access_property|annotated_ptr|atomic|barrier|bit|cmath|discard_memory|functional|iterator|latch|mdspan|memory|memory_resource"
    "|numeric|pipeline|semaphore|stream_ref|utility|version|warp"
)

CCCL = Library(
    "Thrust, CUB, libcu++",
    header_names=(r"cuda/std/.+", rf"cuda/(?:{_HEADERS})"),
    absent_headers={
        r"cuda/ptx(?:/.*)?": "PTX has no counterpart",
        r"nv/target": "it chooses code by the number of NVIDIA's GPU; ask for __CUDA_ARCH__, which is translated",
    },
)

CUTLASS = Library(
    "CUTLASS",
    names=(r"cutlass(?:GetStatusString)?", r"CUTLASS_\w+", r"CUTE_\w+"),
    spellings={"cutlass": "mutlass", "CUTLASS": "MUTLASS", "CUTE_": "MUTE_"},
    words={"cute": "mute"},
    header_names=(r"cutlass/.+", r"cute/.+"),
)
