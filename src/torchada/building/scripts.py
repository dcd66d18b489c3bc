"""Is this process a build?"""

from __future__ import annotations

import os
import sys


def is_setup_script() -> bool:
    """Whether a setup.py is being executed, directly or by pip and similar tools, which set sys.argv in the same way."""
    arguments: list[str] = getattr(sys, "argv", None) or [""]
    return os.path.basename(arguments[0]) == "setup.py"
