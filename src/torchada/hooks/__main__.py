"""`python -m torchada.hooks status [--json] [--probe]`: the same as `torchada status`."""

from __future__ import annotations

import sys

from torchada.cli import execute

if __name__ == "__main__":
    sys.exit(execute(("status",), "python -m torchada.hooks"))
