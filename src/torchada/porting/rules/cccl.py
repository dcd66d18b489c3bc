"""Thrust, CUB, libcu++ and CUTLASS: thrust::cuda::par, cuda::std, cutlass::half_t, CUTLASS_DEVICE.

Thrust's and CUB's own names are the same on MUSA. The namespace `cuda` is the business of
`torchada.porting.by_context`: alone it is an ordinary word.
"""

from torchada.porting.rules.library import Library

CCCL = Library(
    "Thrust, CUB, libcu++",
    header_names=(r"cuda/std/.+", r"cuda/(?:functional|atomic|barrier|semaphore|latch|pipeline|annotated_ptr|version)"),
    absent_headers={r"cuda/ptx(?:/.*)?": "PTX has no counterpart"},
)

CUTLASS = Library(
    "CUTLASS",
    names=(r"cutlass(?:GetStatusString)?", r"CUTLASS_\w+", r"CUTE_\w+"),
    spellings={"cutlass": "mutlass", "CUTLASS": "MUTLASS", "CUTE_": "MUTE_"},
    words={"cute": "mute"},
    header_names=(r"cutlass/.+", r"cute/.+"),
)
