"""Run a program of plain PyTorch, and end as soon as it has ended: `python control.py PROGRAM ARGUMENTS...`.

The interpreter is not taken down. A thread of gloo that drops the last reference to a tensor of `all_gather_object` asks for the
GIL in a destructor, and where the interpreter is being finalized at that moment, the process aborts (torch 2.13, one run of five).
"""

import os
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
