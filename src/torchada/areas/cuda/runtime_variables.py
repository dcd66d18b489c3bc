"""CUDA_LAUNCH_BLOCKING and other variables of the runtime, also where the program sets them after its start."""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.mirrors.runtime_variables import RuntimeMirror


def patches(context: Context) -> Iterator[Patch]:
    variables = context.backend.variables
    if not variables.renames:
        raise Skip("the backend's descriptor names no variables of a runtime")
    mirror = RuntimeMirror(variables)
    to = variables.renames["CUDA_LAUNCH_BLOCKING"]
    # os.environ looks these functions up among the globals of os for every change of a variable.
    yield Patch(os, "putenv", mirror.putenv(os.putenv), 'os.environ["CUDA_LAUNCH_BLOCKING"] = ...', to=to)
    yield Patch(os, "unsetenv", mirror.unsetenv(os.unsetenv), 'del os.environ["CUDA_LAUNCH_BLOCKING"]', to=to)
