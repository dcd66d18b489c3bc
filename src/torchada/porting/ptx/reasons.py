"""Why a statement of PTX was refused, in one sentence for each kind, and what somebody should know of one that was translated."""

from __future__ import annotations

import re

REASON = "PTX is NVIDIA's assembler; MUSA has no counterpart"
_PRODUCT = "a product of matrices, computed by shuffles and multiplications: slow, and MUSA's matrix instructions are other ones"
_KINDS = (
    (rb"wgmma\.|tcgen05\.", "matrix instructions of NVIDIA's sm_90 and later"),
    (
        rb"cp\.(?:async|reduce\.async)\.bulk|tensormap\.|cp\.async\.mbarrier",
        "copies by NVIDIA's tensor memory accelerator (sm_90)",
    ),
    (rb"mbarrier\.|fence\.(?:proxy|mbarrier_init)", "barriers in shared memory (mbarrier)"),
    (rb"barrier\.cluster|mapa\.|getctarank|%%?cluster|multimem\.|clusterlaunchcontrol", "clusters of blocks (sm_90)"),
    (rb"\bw?mma\.", "a product of matrices of a shape or type that is not translated"),
    (rb"\b(?:ld|st)matrix\.", "matrices of a shape or type that is not translated"),
    (
        rb"\bbar(?:rier)?\.",
        "a barrier for a part of a block; one without a number of threads, that of the whole block, is translated. From MP 31 on"
        " there are barriers that a kernel sets up before (__musa_async_init_arrival)",
    ),
    (rb"\b(?:bra|brx|call|ret)\b", "branches and calls in assembler"),
    (rb"cp\.async\.", "a copy in the background with a size, space or hint that is not translated"),
    (rb"\b(?:ld|st|atom|red)\.", "an access to memory with a modifier, type or address that is not translated"),
    (rb"%%?(?:smid|nsmid|warpid|nwarpid|clock|globaltimer|dynamic_smem_size|total_smem_size)", "a special register"),
)
_PATTERNS = tuple((re.compile(pattern), text) for pattern, text in _KINDS)


def of_refused(template: bytes) -> str:
    """What the instructions of a statement ask for that is not there."""
    kind = next((text for pattern, text in _PATTERNS if pattern.search(template)), "")
    return f"{REASON}: {kind}" if kind else REASON


def of_translated(template: bytes) -> str | None:
    """What somebody should look at although the values are PTX's."""
    return _PRODUCT if b"mma.sync." in template else None
