"""`python -m torchada.hooks status [--json] [--probe]`."""

from __future__ import annotations

import sys

from torchada.cli.status import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], program="python -m torchada.hooks"))
