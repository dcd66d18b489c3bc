"""The kinds of answer that an API of CUDA can get, in words; the most urgent kind first."""

from __future__ import annotations

NAMES = {
    "unsupported": "unsupported",
    "emulated": "emulated",
    "untouched": "not redirected",
    "adapted": "adapted",
    "same": "same",
}
MEANINGS = {
    "unsupported": "refused with an error",
    "emulated": "done by torchada",
    "untouched": "torch's own answer",
    "adapted": "the backend, called in its own way",
    "same": "the backend's own function",
}
KINDS = tuple(NAMES)
