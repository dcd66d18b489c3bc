"""What the kinds of answers stand for, of calls that are recorded and of APIs that are read in sources."""

from __future__ import annotations

from torchada.report.answers import ADAPTED, EMULATED, MEANINGS, OWN, SAME, UNKNOWN, UNSUPPORTED, UNTOUCHED
from torchada.report.explanations import Explanation

_OF_BOTH = "run --report, check"
_NOTHING = "Nothing."
_TEXTS = {
    UNSUPPORTED: (
        "The device has nothing of the kind, so a call ends in torchada.UnsupportedError, which names the API and the reason.",
        "Take the way around that the message names, or guard the call: the error is a NotImplementedError.",
    ),
    UNKNOWN: (
        "The name was not there when the tables were made, so nobody has looked how it is answered.",
        "Run the program under `torchada run --report`, which shows what answers.",
    ),
    EMULATED: ("The backend has nothing of the kind, and torchada gives what CUDA gives.", _NOTHING),
    UNTOUCHED: ("No part of torchada changes it: torch's own function answers.", _NOTHING),
    OWN: ("The code is torch's, and what it calls is redirected.", _NOTHING),
    ADAPTED: ("The backend answers, with another name, order or type of its arguments.", _NOTHING),
    SAME: ("The backend has a function of the same behaviour, which stands under CUDA's name.", _NOTHING),
}
EXPLANATIONS = tuple(
    Explanation(
        kind,
        _OF_BOTH,
        f"How an API of CUDA is answered: {MEANINGS[kind]}.",
        why,
        advice,
        "how-to/reports.md#read-the-result",
    )
    for kind, (why, advice) in _TEXTS.items()
)
