"""What a table of rules is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    """How the names of one CUDA library are recognised, and what they are called on MUSA.

    A whole identifier that matches one of `names` (regular expressions) belongs to the library. It is spelled anew by replacing
    every part listed in the `spellings` of any library, so that `cudaErrorNvSci...` is right all through; `words` has what does not
    follow. `absent` maps regular expressions to the reason why such a name has no counterpart: it stays, and is reported.
    `unlike` does so for names which are translated but whose counterpart works otherwise. `headers` maps whole include paths, and
    `header_names` recognises those that are spelled anew as identifiers are.

    Of a library that `is_closed`, only names are translated that a table of the vendor's knows (`torchada.porting.symbols`).
    """

    title: str
    names: tuple[str, ...] = ()
    spellings: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    unlike: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    header_names: tuple[str, ...] = ()
    absent_headers: Mapping[str, str] = field(default_factory=dict)
    is_closed: bool = False
