"""Makes scripts/listed_names.txt: the functions that CUDA's headers declare for device code, and those of cuFile and NVTX.

python -m scripts.listed_names INCLUDE...    # include folders of a CUDA toolkit; NVIDIA's packages on PyPI have them too
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

FILE = Path(__file__).with_suffix(".txt")
_DEVICE = [
    "*functions.h",
    "*functions.hpp",
    "*intrinsics.h",
    "*_rt.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "cuda_fp8.h",
    "cuda_runtime_api.h",
]
_DECLARED = re.compile(r"(?:__device__|__\w+_DECL__)[^;{}()]*?\b([A-Za-z_]\w*)\s*\(")
_SECTIONS = {
    "cuFile": ("cufile.h", re.compile(r"\b(cuFile[A-Z]\w*)\s*\(")),
    "NVTX": ("nvToolsExt*.h", re.compile(r"NVTX_API\s[^;]*?\b(nvtx\w+)\s*\(")),
}
_NO_FUNCTIONS = re.compile(
    r"_+[A-Z]\w*|__(?:device|host|attribute|declspec|nv_|nvvm|builtin|internal|cuda)\w*|.*_DECL__|asm|defined"
)


def read() -> Mapping[str, Sequence[str]]:
    """The names of each section."""
    parts = (part.split(":", 1) for part in FILE.read_text(encoding="utf-8").strip().split("\n\n"))
    return {title: names.split() for title, names in parts}


def device_functions(folders: Sequence[Path]) -> Iterator[str]:
    """What a header declares with __device__, or with a macro for it."""
    for path in sorted(path for folder in folders for pattern in _DEVICE for path in folder.rglob(pattern)):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", path.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL)
        yield from (name for name in _DECLARED.findall(text) if not _NO_FUNCTIONS.fullmatch(name))


def main(folders: Sequence[str]) -> None:
    places = [Path(folder) for folder in folders]
    found = {"device": sorted(set(device_functions(places)))}
    for title, (header, pattern) in _SECTIONS.items():
        texts = [path.read_text(encoding="utf-8", errors="replace") for place in places for path in place.rglob(header)]
        found[title] = sorted({name for text in texts for name in pattern.findall(text)})
    lacking = [title for title, names in found.items() if not names]
    if lacking:
        given = ", ".join(map(str, places))
        raise SystemExit(f"{given}: no headers of {', '.join(lacking)}; expected a CUDA toolkit's include folder")
    parts = (f"{title}:\n{textwrap.fill(' '.join(names), 120)}" for title, names in found.items())
    FILE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(", ".join(f"{len(names)} names of {title}" for title, names in found.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
