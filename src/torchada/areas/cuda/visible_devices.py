"""CUDA_VISIBLE_DEVICES, also when the program sets it after the start, as long as the backend's own variable is not set."""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.environment import Mirror


def patches(context: Context) -> Iterator[Patch]:
    variable = context.backend.visible_devices
    mirror = Mirror(variable)
    # os.environ calls these by their global names in os for every change of a variable.
    yield Patch(os, "putenv", mirror.putenv(os.putenv), 'os.environ["CUDA_VISIBLE_DEVICES"] = ...', to=variable)
    yield Patch(os, "unsetenv", mirror.unsetenv(os.unsetenv), 'del os.environ["CUDA_VISIBLE_DEVICES"]', to=variable)
