"""Checks that cannot pass on a platform, with the limit that is documented for it (docs/reference/limits.md).

Such a check is still run: one that passes is reported as passed. One that fails counts as unsupported, with the limit and what was
seen.
"""

from __future__ import annotations

from typing import Any

from torchada.tools.verify.outcomes import FAILED, UNSUPPORTED

_NO_RACES = "kernels are done when they return, so there is no race to be seen"
_AUTOCAST = "autocast is the CPU's, with its own lists of operators and bfloat16"
_ORDERS = ("race_is_seen", *(f"no_race_by_{order}" for order in ("event", "event_wait", "wait_stream", "synchronize")))
LIMITS: dict[str, dict[str, str]] = {
    "host": {
        "defaults.autocast_dtype": _AUTOCAST,
        "amp.float32_operators": _AUTOCAST,
        "memory.figures": "figures of memory are those of the process",
        "memory.mixed_devices": "tensors of the device and of the CPU may be mixed",
        **{f"streams.{name}": _NO_RACES for name in _ORDERS},
    },
}


def judged(platform: str, name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of a check, with the limit of the platform where that is the reason."""
    limit = LIMITS.get(platform, {}).get(name)
    if limit is None or answer["outcome"] != FAILED:
        return answer
    return {**answer, "outcome": UNSUPPORTED, "detail": f"{limit} ({answer['detail']})", "log": ""}
