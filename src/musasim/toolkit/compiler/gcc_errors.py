"""What GCC refuses and clang, which mcc is made of, compiles."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence

_COLOR = re.compile(r"\x1b\[[\d;]*[mK]")
_ERROR = re.compile(r": (?:fatal )?error: (.*)")
# struct Of { using packed = packed<half>; };
_CHANGES_MEANING = re.compile(r"declaration of .* changes meaning of ")


def compile_as_clang(command: Sequence[str]) -> None:
    """Run GCC; where its only errors are names that a class gives a second meaning, it compiles after all.

    Raises subprocess.CalledProcessError. GCC before 13 knows one option for all such errors, which would let errors of other kinds
    pass as well; so it is given only where there are none.
    """
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0 and _is_gccs_alone(done.stderr.decode(errors="replace")):
        done = subprocess.run([*command, "-fpermissive"], stderr=subprocess.PIPE, check=False)
    sys.stderr.buffer.write(done.stderr)
    sys.stderr.flush()
    done.check_returncode()


def _is_gccs_alone(messages: str) -> bool:
    errors = _ERROR.findall(_COLOR.sub("", messages))
    return bool(errors) and all(map(_CHANGES_MEANING.match, errors))
