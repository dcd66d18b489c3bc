"""torch.cuda._sanitizer finds races between streams by callbacks, which only CUDA's allocator and streams make."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import unsupported


def patches(context: Context) -> Iterator[Patch]:
    from torch.cuda._sanitizer import CUDASanitizer

    why = "its allocator and streams do not report what they do, so no race would ever be found"
    refuse = unsupported(context, "torch.cuda._sanitizer", why, CUDASanitizer.enable)
    yield Patch(CUDASanitizer, "enable", refuse, "torch.cuda._sanitizer.enable_cuda_sanitizer", kind="unsupported")
