"""The compiled gates, loaded."""

from __future__ import annotations

import ctypes
from pathlib import Path


class Library:
    def __init__(self, path: Path) -> None:
        self.path = path
        # Never closed, because the dispatcher holds pointers to its functions.
        self._functions = functions = ctypes.CDLL(str(path))
        functions.torchada_gate_open.restype = ctypes.c_char_p
        functions.torchada_gate_open.argtypes = (ctypes.c_char_p, ctypes.c_int)
        functions.torchada_gate_rule.restype = functions.torchada_gate_close.restype = None
        functions.torchada_gate_rule.argtypes = (ctypes.c_char_p, ctypes.c_int)
        functions.torchada_gate_close.argtypes = (ctypes.c_char_p,)
        functions.torchada_gate_has.argtypes = (ctypes.c_char_p,)

    def has(self, name: str) -> bool:
        """Whether there is a gate for the operator."""
        return bool(self._functions.torchada_gate_has(name.encode()))

    def open(self, name: str, rule: int) -> None:
        """Put the gate in front of the device's kernel. Raises RuntimeError where PyTorch does not take it."""
        problem = self._functions.torchada_gate_open(name.encode(), rule)
        if problem is not None:
            raise RuntimeError(f"no gate for aten::{name}: {problem.decode(errors='replace')}")

    def turn(self, name: str, on: bool) -> None:
        """Switch what the library does besides gates on or off: `time_ddp` or `leave_doubles`. It may lack a clock."""
        function = getattr(self._functions, f"torchada_{name}", None)
        if function is not None:
            function(int(on))

    def decide(self, name: str, rule: int) -> None:
        """Other calls are Python's from now on; every call is the device's by the rule 0."""
        self._functions.torchada_gate_rule(name.encode(), rule)

    def close(self, name: str) -> None:
        """Take the gate away; what was in force before is in force again."""
        self._functions.torchada_gate_close(name.encode())
