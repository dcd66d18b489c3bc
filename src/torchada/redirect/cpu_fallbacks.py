"""What is computed on the CPU in the device's place: told once for each operator, and counted."""

from __future__ import annotations

from collections import Counter

from torchada.base.warnings import tell_once
from torchada.redirect.context import Context
from torchada.redirect.unsupported import error

#: How often each operator was, in this process.
COUNTS: Counter[str] = Counter()


def note(context: Context, operator: str, why: str) -> None:
    """`operator` is about to be computed on the CPU. Raises UnsupportedError where TORCHADA_CPU_FALLBACK=refuse is set."""
    if context.settings.cpu_fallback == "refuse":
        raise error(context, operator, f"{why}, and TORCHADA_CPU_FALLBACK=refuse rules out the CPU")
    COUNTS[operator] += 1
    if COUNTS[operator] == 1 and context.settings.cpu_fallback == "warn":
        tell_once(
            f"{operator} is computed on the CPU, with copies there and back, because {why} "
            "(said once; TORCHADA_CPU_FALLBACK=silent does not say it, refuse raises an error)"
        )
