"""NVTX: nvtxRangePushA, NVTX_VERSION, which stay. Names in CUPTI's callbacks are spelled as the vendor's are."""

from torchada.porting.rules.library import Library

NVTX = Library(
    "NVTX",
    spellings={"nvtx": "mttx", "NVTX": "MTTX"},
    absent_headers={
        r"(?:nvtx3/)?nvToolsExt\w*\.h|nvtx3/.*": (
            "no header of MUSA's counterpart is known; torchada's builds find one whose marks nobody records, and NVTX's own, "
            "which is all headers, compiles for MUSA too"
        )
    },
)
