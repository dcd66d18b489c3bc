"""Eigen's member templates: where m's type depends on a parameter, nvcc takes `m.block<3, 3>(0, 0)`, and clang `m.template block`.

The word may stand where nothing depends on a parameter, too, so it is not asked whether something does.
"""

from __future__ import annotations

import re

_MEMBERS = (
    b"block|segment|head|tail|cast|lpNorm|triangularView|selfadjointView|replicate|(?:top|bottom|middle)Rows"
    b"|(?:left|right|middle)Cols|(?:top|bottom)(?:Left|Right)Corner"
)
_EIGEN = re.compile(rb"Eigen")  # which takes half of what `in` takes
_CALLED = re.compile(rb"(\.|->)([ \t]*(?:%b)<[\w\s:,+*-]{1,200}>[ \t]*\()" % _MEMBERS)


def with_template(text: bytes) -> tuple[bytes, int]:
    """The text with the word in front of each call, and how many there are."""
    return _CALLED.subn(rb"\1template \2", text) if _EIGEN.search(text) else (text, 0)
