"""torch.musa.is_available() and device_count(): a package under the view of CUDA gets CUDA's answers, False and 0.

That is one that somebody has put there. It would otherwise take its branch for MUSA, and there compare with names that it does not
see. Where no one has said so, whoever asks gets the device's answer, because to ask is to know MUSA.

Until a device is used, the answer is the management library's, as that of torch.cuda.device_count() is. Libraries that
know MUSA ask while they are imported (accelerate does), as they ask CUDA by NVML, and children that are forked later have to keep
the devices.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.areas.cuda._device_count import DeviceCount
from torchada.redirect.by_view import Question, declared
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import R


def patches(context: Context) -> Iterator[Patch]:
    if context.backend.computes_on:
        return
    count = DeviceCount(context)
    answers: tuple[tuple[str, Callable[[], int], int], ...] = (
        ("is_available", lambda: count.known() > 0, False),
        ("device_count", count.known, 0),
    )
    for name, of_device, of_cuda in answers:
        original = getattr(context.namespace, name, None)
        if original is not None:
            note = f"torch.{context.backend.namespace}.{name} in a package that is put under the view of CUDA"
            yield Patch(context.namespace, name, _unless_told(context, of_device, of_cuda, original), None, note=note)


def _unless_told(
    context: Context, of_device: Callable[[], R], of_cuda: R, original: Callable[[], R]
) -> Callable[[], R]:
    views, frame = context.views, sys._getframe

    def answer() -> R:
        return of_cuda if views.is_told_cuda(frame(1).f_globals) else of_device()

    return declared(disguise(answer, original), Question(lambda: of_cuda, of_device, 1))
