"""How an API of CUDA is answered, in words, and how much that matters; the most urgent kind first."""

from __future__ import annotations

from torchada.report.severity import ERROR, NOTE, OK, WARNING

UNSUPPORTED, UNKNOWN, EMULATED, UNTOUCHED = "unsupported", "unknown", "emulated", "untouched"
OWN, ADAPTED, SAME = "own", "adapted", "same"
MEANINGS = {
    UNSUPPORTED: "refused with an error",
    UNKNOWN: "in no table: torch does not have it, or nobody has looked",
    EMULATED: "done by torchada",
    UNTOUCHED: "torch's own answer",
    OWN: "torch's own code, over what is redirected",
    ADAPTED: "the backend, called in its own way",
    SAME: "the backend's own function",
}
# A call that is seen has been answered, whether the API is in a table or not; what is read in sources is in a table or in none.
OF_CALLS = (UNSUPPORTED, EMULATED, UNTOUCHED, ADAPTED, SAME)
SEVERITIES = {UNSUPPORTED: ERROR, UNKNOWN: WARNING, EMULATED: NOTE, OWN: OK, ADAPTED: OK, SAME: OK}
OF_SOURCES = tuple(SEVERITIES)


def title(kind: str) -> str:
    """The kind of a call's answer as users read it."""
    return "not redirected" if kind == UNTOUCHED else kind
