"""What was found in the sources of installed packages, kept in torchada's private cache until they are installed anew."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from torchada.views import distributions, sources
from torchada.views.sources import MUSA, Mention, Words

if TYPE_CHECKING:
    from _torchada_cache.cache import Cache

_FILE = "found.json"


def find(places: tuple[str, ...], chosen: str | None, words: Words = MUSA) -> Mention | None:
    """As `sources.find`, remembered for a package that is installed. `chosen` is the user's folder for caches.

    Where no such folder can be used, the sources are searched each time.
    """
    if len(places) != 1 or not os.path.isdir(places[0]):
        return sources.find(places, words)
    kept = _Kept(places[0], chosen, words)
    known = kept.read()
    if known is not None:
        return Mention(*known["mention"]) if known["mention"] else None
    mention = sources.find(places, words)
    kept.write(mention)
    return mention


class _Kept:
    """The entry of one package in the cache. No error of the cache reaches the program."""

    def __init__(self, place: str, chosen: str | None, words: Words) -> None:
        self._place = place
        self._chosen = chosen
        self._search = hashlib.sha256(words.pattern).hexdigest()
        self._name = hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()[:32]
        self._site = os.path.dirname(place)

    def read(self) -> dict[str, Any] | None:
        try:
            folder = self._cache().find(self._name)
            record = json.loads((folder / _FILE).read_bytes()) if folder is not None else None
            is_current = record and self._what(record["distribution"]).items() <= record.items()
            return record if is_current else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def write(self, mention: Mention | None) -> None:
        try:
            metadata = distributions.of(self._place)
            if metadata is None:
                return
            text = json.dumps({**self._what(metadata), "mention": mention})
            cache = self._cache()
            cache.remove(self._name)
            with cache.stored(self._name) as folder:
                (folder / _FILE).write_text(text, encoding="utf-8")
        except (OSError, ValueError):
            return

    def _cache(self) -> Cache:
        from torchada.base.caches import cache

        return cache("views", self._chosen)

    def _what(self, metadata: str) -> dict[str, Any]:
        """What an entry has to say in order to hold."""
        stamp = distributions.stamp(self._site, metadata)
        if stamp is None:
            raise ValueError(f"{metadata} has no RECORD")
        return {"place": self._place, "distribution": metadata, "installed": stamp, "search": self._search}
