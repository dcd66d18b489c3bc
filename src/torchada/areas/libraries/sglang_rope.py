"""SGLang's rotary position embedding: its kernel is in part NVIDIA's assembler; operators of PyTorch compute the same."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.areas.libraries._rope import apply_rope_inplace
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_TRIED = "sglang 0.5.23"


def patches(context: Context) -> Iterator[Patch]:
    import sglang.kernels.ops.attention.rope as rope

    note = "sglang.kernels.ops.attention.rope.apply_rope_inplace"
    yield Patch(rope, "apply_rope_inplace", apply_rope_inplace, None, kind="emulated", note=note, since=_TRIED)
