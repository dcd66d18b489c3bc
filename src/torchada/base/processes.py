"""How a process of ours begins that runs `python -c` with what is on the user's path."""

from __future__ import annotations

#: Nothing of the current folder may be imported: it may belong to anybody.
NOT_FROM_HERE = "import os, sys; sys.path[:] = [p for p in sys.path if p not in ('', os.getcwd())]\n"
