"""`python -m torchada.cli` is the `torchada` command."""

from __future__ import annotations

import sys

from torchada.cli import main

if __name__ == "__main__":
    sys.exit(main())
