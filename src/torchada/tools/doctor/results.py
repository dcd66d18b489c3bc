"""What the doctor says of one thing: how it is, and what to do."""

from __future__ import annotations

from typing import NamedTuple


class Result(NamedTuple):
    """`check` names the check that said it; `subject` is what it is about; `cure` is what to do, empty where nothing is to be done.

    `source` is where it can be read, for what others have found.
    """

    check: str
    severity: str
    subject: str
    text: str
    cure: str = ""
    source: str = ""
