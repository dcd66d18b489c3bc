"""By what a gate decides; csrc/gate.h has the same numbers."""

from __future__ import annotations

ALWAYS = 1
REFUSED = 2
INTEGERS = 3
DOUBLES = 4
SLICED = 5
SCALED = 6
