"""The names of CUDA that `simple_porting` replaces unless it is told others, and what they are called on MUSA.

porting_names.txt lists CUDA's; nearly all of MUSA's follow from them.
"""

from __future__ import annotations

import re
from pathlib import Path

_PARTS = {
    "CUDA": "MUSA",
    "cuda": "musa",
    "Cuda": "Musa",
    "CUDNN": "MUDNN",
    "cudnn": "mudnn",
    "cublas": "mublas",
    "cufft": "mufft",
    "curand": "murand",
    "cusparse": "musparse",
    "cusolver": "musolver",
    "cupti": "mupti",
    "npp": "mtpp",
    "nvtx": "mttx",
    "NvSci": "MtSci",
    "nvSci": "mtSci",
    "Nvlink": "Mtlink",
}
_OTHERS = {
    "#ifdef CUDART_VERSION": "#if 0",
    "cublas_v2.h": "mublas.h",
    "curand_philox4x32_x.h": "murand_philox4x32_10.h",
    "crt/nvfunctional": "crt/mtfunctional",
    "nvblas.h": "mtblas.h",
    "nvfunctional": "mtfunctional",
}


def mapping() -> dict[str, str]:
    """CUDA's names, with MUSA's."""
    listed = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split()
    return {**{name: _on_musa(name) for name in listed}, **_OTHERS}


def _on_musa(name: str) -> str:
    for part, other in _PARTS.items():
        name = name.replace(part, other)
    # Types and functions of the driver, such as CUstream_st.
    driver = re.match(r"(C|c)([Uu])(?=_?[A-Za-z])", name)
    return f"{'M' if driver[1] == 'C' else 'm'}{driver[2]}{name[2:]}" if driver else name
