"""What runs at every start of the interpreter: one finder is put first on sys.meta_path. Nothing costly may be imported here.

The start-up files name `install`. Everything else waits until a watched name is imported, for at start-up sys.path may still grow.
"""

import os
import sys

DISABLE = "TORCHADA_DISABLE"
ON = ("1", "true", "yes", "on")
OFF = ("", "0", "false", "no", "off")
# torch, and the adapter modules that may be imported before it. Areas add the modules they concern once torch is there.
WATCHED_AT_START = ("torch", "torch_musa")


class HookFinder:
    """Answers None after one dictionary look-up for every name it does not watch."""

    def __init__(self) -> None:
        self.watched = dict.fromkeys(WATCHED_AT_START, True)

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name not in self.watched:
            return None
        from torchada.hooks.importer import find_spec

        return find_spec(self, name, path, target)


FINDER = HookFinder()


def is_disabled() -> bool:
    """Whether TORCHADA_DISABLE opts out. A value that is neither on nor off counts as off, and is named later."""
    return os.environ.get(DISABLE, "").strip().lower() in ON


def install() -> None:
    """Put the hook in force. Idempotent (a virtual environment runs each .pth line twice); never raises."""
    try:
        if FINDER in sys.meta_path or is_disabled():
            return
        sys.meta_path.insert(0, FINDER)
        if not FINDER.watched.keys().isdisjoint(sys.modules):
            from torchada.hooks.activation import catch_up

            catch_up()
    except Exception as error:
        if os.environ.get("TORCHADA_STRICT", "") in ON:
            raise
        sys.stderr.write(f"torchada: not started: {type(error).__name__}: {error}\n")
