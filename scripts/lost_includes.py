"""Makes src/torchada/porting/lost_includes.json: what PyTorch's CUDA headers bring along and torch_musa's counterparts do not.

    python scripts/lost_includes.py TORCH_INCLUDE TORCH_MUSA

TORCH_INCLUDE is the folder `include` of an installed torch, whose CUDA headers it has even where it is for the CPU. TORCH_MUSA is a
checkout of torch_musa. A header that torch_musa's build generates from PyTorch's includes what that one includes, translated; one
that torch_musa has written itself includes what it says. Compared are the C++ standard's headers and PyTorch's, each with all that
it includes in turn. Of what is lost, headers that another lost one includes are left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from torchada.porting.includes import LOST
from torchada.porting.names import Names

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
_STANDARD = re.compile(r"[a-z_]+")  # <algorithm>, and not <sys/types.h>
_FOLDERS = ("ATen/cuda", "c10/cuda", "ATen/native/cuda", "torch/csrc/api/include/torch")
_NEWER = {"c10/core/AllocatorConfig.h"}  # torch 2.7.1, which torch_musa 2.7.1 is for, does not have it
_NAMES = Names()


class Headers:
    """The headers of PyTorch at `torch`, and of torch_musa in the checkout `musa`."""

    def __init__(self, torch: Path, musa: Path) -> None:
        self.torch, self.musa = torch, musa
        self.origins = {self.counterpart(path): path for path in self.cuda()}
        self.reach = lru_cache(maxsize=None)(self._reach)

    def cuda(self) -> Iterator[str]:
        """PyTorch's CUDA headers, by the paths that programs include."""
        for folder in _FOLDERS:
            for file in sorted((self.torch / folder).rglob("*")):
                path = str(file.relative_to(self.torch)).removeprefix("torch/csrc/api/include/")
                if file.is_file() and self.counterpart(path) != path:
                    yield path

    @staticmethod
    def counterpart(path: str) -> str:
        answer = _NAMES.header(path)
        return path if answer is None or answer.name is None else answer.name

    def _includes(self, path: str) -> list[str]:
        """What the header `path` includes itself; counterparts, where `path` is the counterpart of a header of PyTorch's."""
        if path.startswith("torch_musa/") and (self.musa / path).is_file():
            return _INCLUDE.findall((self.musa / path).read_text(encoding="utf-8"))
        origin = self.origins.get(path)
        for folder in (self.torch, self.torch / "torch/csrc/api/include"):
            file = folder / (origin or path)
            if file.is_file():
                included = _INCLUDE.findall(file.read_text(encoding="utf-8"))
                return [self.counterpart(header) for header in included] if origin else included
        return []

    def _reach(self, path: str) -> frozenset[str]:
        """All that `path` includes in the end."""
        seen: set[str] = set()
        waiting = [path]
        while waiting:
            for header in self._includes(waiting.pop()):
                if header not in seen:
                    seen.add(header)
                    waiting.append(header)
        return frozenset(seen)

    def lost(self, path: str) -> list[str]:
        """What `path` brings along and its counterpart does not."""
        reached = self.reach(self.counterpart(path))
        brought = {self.counterpart(header) for header in self.reach(path)} - reached
        kept = [header for header in sorted(brought) if self._is_general(header)]
        return [header for header in kept if not any(header in self.reach(other) for other in kept if other != header)]

    def _is_general(self, path: str) -> bool:
        """Whether it is a header of the standard or of PyTorch's that has nothing to do with a device."""
        if path in _NEWER:
            return False
        if _STANDARD.fullmatch(path):
            return True
        return path.startswith(("ATen/", "c10/")) and "musa" not in path.lower() and (self.torch / path).is_file()


def main(torch: str, musa: str) -> None:
    headers = Headers(Path(torch), Path(musa))
    table = {path: lost for path in headers.cuda() if (lost := headers.lost(path))}
    LOST.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{LOST}: {len(table)} headers")


if __name__ == "__main__":
    main(*sys.argv[1:])
