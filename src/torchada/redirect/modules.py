"""The table of imported modules, as an owner of patches: one package can then answer for the submodule of another."""

from __future__ import annotations

import sys

IMPORTED = sys.modules
