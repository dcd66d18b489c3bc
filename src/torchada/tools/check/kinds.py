"""How an API of CUDA is answered, in words, and how much that matters; the most urgent kind first."""

from __future__ import annotations

from torchada.report.severity import ERROR, NOTE, OK, WARNING

UNSUPPORTED, EMULATED, UNKNOWN, OWN, ADAPTED, SAME = "unsupported", "emulated", "unknown", "own", "adapted", "same"
MEANINGS = {
    UNSUPPORTED: "refused with an error",
    UNKNOWN: "in no table: torch does not have it, or nobody has looked",
    EMULATED: "done by torchada",
    OWN: "torch's own code, over what is redirected",
    ADAPTED: "the backend, called in its own way",
    SAME: "the backend's own function",
}
SEVERITIES = {UNSUPPORTED: ERROR, UNKNOWN: WARNING, EMULATED: NOTE, OWN: OK, ADAPTED: OK, SAME: OK}
