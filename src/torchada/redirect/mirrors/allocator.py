"""PYTORCH_CUDA_ALLOC_CONF under the name that the backend's allocator reads, with the options that it knows.

The allocator refuses an option that it does not know, and reads its variable when it is first used. So the other options are left
out, named in a warning, and the variable follows what the program sets before that. The installed release of the backend is looked
up where an option is given that not every release knows.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from torchada.base import settings as _settings
from torchada.base.warnings import tell_once
from torchada.redirect.mirrors import in_os

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend
    from torchada.backends.parts import Allocator
    from torchada.redirect.mirrors.visible_devices import Text

# torch reads the second one where the first is not set.
SOURCES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
# CUDA's options, of all versions of torch. Of these, the backend's allocator has some.
OPTIONS = frozenset(
    {
        "backend",
        "expandable_segments",
        "garbage_collection_threshold",
        "graph_capture_record_stream_reuse",
        "large_segment_size_mb",
        "max_non_split_rounding_mb",
        "max_split_size_mb",
        "per_process_memory_fraction",
        "pinned_free_catch_all",
        "pinned_max_cached_size_mb",
        "pinned_max_round_threshold_mb",
        "pinned_num_register_threads",
        "pinned_reserve_segment_size_mb",
        "pinned_use_background_threads",
        "pinned_use_cuda_host_register",
        "pinned_use_hip_host_register",
        "release_lock_on_cudamalloc",
        "release_lock_on_hipmalloc",
        "roundup_power2_divisions",
        "throw_on_cudamalloc_oom",
    }
)
_BETWEEN_OPTIONS = r",(?![^\[]*\])"  # roundup_power2_divisions:[256:1,512:2] is one option


class AllocatorSettings:
    """Copies CUDA's variable to the backend's, unless the user has set that one."""

    def __init__(self, backend: Backend, allocator: Allocator) -> None:
        self._backend, self._allocator = backend, allocator

    def bring_up_to_date(self) -> None:
        """Copy what is set now, or remove our copy where nothing is set any more."""
        self._follow(os.environ)

    def take_back(self) -> None:
        """Remove our copy."""
        self._follow({})

    def putenv(self, original: Callable[[Text, Text], None]) -> Callable[[Text, Text], None]:
        """os.putenv that follows CUDA's variable."""

        def putenv(key: Text, value: Text) -> None:
            original(key, value)
            if os.fsdecode(key) in SOURCES:
                self._follow({**os.environ, os.fsdecode(key): os.fsdecode(value)})

        return in_os(putenv)

    def unsetenv(self, original: Callable[[Text], None]) -> Callable[[Text], None]:
        """os.unsetenv that follows CUDA's variable."""

        def unsetenv(key: Text) -> None:
            original(key)
            if os.fsdecode(key) in SOURCES:
                self._follow({name: value for name, value in os.environ.items() if name != os.fsdecode(key)})

        return in_os(unsetenv)

    def translated(self, settings: str, where: str, *, refused: bool = False) -> str:
        """`settings` in the backend's words. What the backend lacks is left out and named, once, as an option of `where`.

        With `refused`, what CUDA lacks as well stays, so that the backend's allocator refuses it as CUDA's does.
        """
        given = [option for option in re.split(_BETWEEN_OPTIONS, settings) if option.strip()]
        options = [(option, option if refused and _is_none_of_cuda(option) else self._own(option)) for option in given]
        lacking = [option.strip() for option, own in options if own is None]
        if lacking:
            tell_once(
                f"{where}: {', '.join(lacking)} is left out, because this {self._allocator.name} has no such option"
            )
        return ",".join(own for _, own in options if own is not None)

    def _own(self, option: str) -> str | None:
        name, colon, value = (part.strip() for part in option.partition(":"))
        if not colon:
            return name  # the allocator's own error tells what it expects
        name = self._allocator.renames.get(name, name)
        values = self._allocator.options.get(name)
        if values is None or (values and value not in values) or not self._is_in_this_release(name):
            return None
        return f"{name}:{value}"

    def _is_in_this_release(self, name: str) -> bool:
        since = self._allocator.since.get(name)
        if since is None:
            return True
        from torchada.backends import releases  # no start-up waits for it that has no such option

        return releases.numbers(releases.installed(self._backend)) >= releases.numbers(since)

    def _follow(self, environ: Mapping[str, str]) -> None:
        variable, ours = self._allocator.variable, _ours()
        own = os.environ.get(variable)
        if own is not None and own != ours:
            return  # the user has set it
        wanted = next(self._wanted(environ), None)
        if wanted is not None:  # an empty one too: torch_musa 2.11.0 reads PYTORCH_ALLOC_CONF where its own is not set
            os.environ[variable] = wanted
            _settings.ALLOCATOR.write(json.dumps(wanted))
        elif ours is not None:
            os.environ.pop(variable, None)
            _settings.ALLOCATOR.write(None)

    def _wanted(self, environ: Mapping[str, str]) -> Iterator[str]:
        for source in SOURCES:
            if source in environ:
                yield self.translated(environ[source], source)


def caching_switch(device_type: str) -> str:
    """The variable that switches the backend's cache off for a whole process."""
    return f"PYTORCH_NO_{device_type.upper()}_MEMORY_CACHING"


def is_caching(device_type: str) -> bool:
    """Whether the backend's allocator keeps memory that is freed; torch_musa 2.7.1 asks for the variable alone."""
    return caching_switch(device_type) not in os.environ


def _is_none_of_cuda(option: str) -> bool:
    return option.partition(":")[0].strip() not in OPTIONS


def _ours() -> str | None:
    """The value that we have written, in this process or in the one that started it."""
    try:
        return str(json.loads(_settings.ALLOCATOR.read() or ""))
    except (ValueError, RecursionError):
        return None
