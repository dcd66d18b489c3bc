"""NVTX: nvtxRangePushA, NVTX_VERSION."""

from torchada.porting.rules.library import Library

NVTX = Library(
    "NVTX",
    names=(r"nvtx[A-Z]\w*", r"NVTX_\w*"),
    spellings={"nvtx": "mttx", "NVTX": "MTTX"},
    unlike={r"nvtx\w+|NVTX_\w+": "MUSA's tracing library is known by its names only, not by its header"},
    absent_headers={r"(?:nvtx3/)?nvToolsExt\w*\.h|nvtx3/.*": "the header of MUSA's counterpart is not known"},
)
