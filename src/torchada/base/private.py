"""What reports that are sent to others leave out: values of arguments and variables that look like secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "***"
_SECRET = r"(?:token|passw(?:or)?d|passphrase|pwd|secret|credential|auth|(?:api|access|private|secret|ssh)[_-]?key)"
_ASSIGNED = re.compile(r"-{0,2}[\w.-]+[=:]")
_USER = re.compile(r"(\w[\w+.-]{0,40}://)[^\s/@]+@")
_QUERY = re.compile(r"([?&][\w.-]+=)[^&#\s]+")
# Keys by which services can be recognized: Hugging Face, GitHub, GitLab, OpenAI and others, Slack, AWS, Weights & Biases.
_KEY = re.compile(r"\b(?:hf_|gh[oprsu]_|github_pat_|glpat-|sk-|xox[abprs]-|AKIA|local-)[\w-]{12,}")


def is_secret(name: str) -> bool:
    """Whether what is called so is likely to be a secret."""
    return re.search(_SECRET, name, re.IGNORECASE) is not None


def masked(text: str) -> str:
    """One argument or value without what looks like a secret in it."""
    assigned = _ASSIGNED.match(text)
    if assigned and is_secret(assigned[0]):
        return f"{assigned[0]}{MASK}"
    return _KEY.sub(MASK, _QUERY.sub(_without_value, _USER.sub(rf"\g<1>{MASK}@", text)))


def masked_command(arguments: Sequence[str]) -> list[str]:
    """A command line without the secrets in it: what follows an option of such a name, too."""
    shown, is_value = [], False
    for argument in arguments:
        shown.append(MASK if is_value and not argument.startswith("-") else masked(argument))
        is_value = argument.startswith("-") and _ASSIGNED.match(argument) is None and is_secret(argument)
    return shown


def _without_value(match: re.Match[str]) -> str:
    return f"{match[1]}{MASK}" if is_secret(match[1]) else match[0]
