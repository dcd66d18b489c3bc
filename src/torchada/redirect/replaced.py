"""Operators that a kernel of ours computed, because the backend's own is missing, is wrong, or refuses the data type. Counted."""

from __future__ import annotations

from collections import Counter

#: How often each operator was, in this process; those that ended on the CPU are in `cpu_fallbacks` as well.
COUNTS: Counter[str] = Counter()
