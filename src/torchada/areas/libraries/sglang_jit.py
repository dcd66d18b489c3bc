"""SGLang's kernels that are compiled while it runs: its toolchain is the one that extensions are built with.

SGLang looks for CUDA by $CUDA_HOME, by nvcc on PATH and in CUDA's usual place, where NVIDIA's may be, which makes no code for this
device. Other builds ask torch.utils.cpp_extension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_TRIED = "sglang 0.5.23"


def patches(context: Context) -> Iterator[Patch]:
    import sglang.kernels.jit.utils.compile.toolchain as toolchain

    home = _cuda_home(toolchain.cuda_home)
    note = "the compiler of SGLang's own kernels"
    yield Patch(toolchain, "cuda_home", home, None, note=note, to="torch.utils.cpp_extension.CUDA_HOME", since=_TRIED)


def _cuda_home(original: Callable[[], str]) -> Callable[[], str]:
    def cuda_home() -> str:
        from torch.utils import cpp_extension

        return cpp_extension.CUDA_HOME or original()

    return disguise(cuda_home, original)
