"""`python -m torchada.cli` is the `torchada` command."""

import sys

from torchada.cli import main

sys.exit(main())
