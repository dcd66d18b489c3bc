"""CUDA_VISIBLE_DEVICES, even if the program sets it after its start, unless the backend's own variable is set."""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.mirrors.visible_devices import Mirror


def patches(context: Context) -> Iterator[Patch]:
    variable = context.backend.visible_devices
    mirror = Mirror(variable)
    # os.environ looks these functions up among the globals of os for every change of a variable.
    yield Patch(os, "putenv", mirror.putenv(os.putenv), 'os.environ["CUDA_VISIBLE_DEVICES"] = ...', to=variable)
    yield Patch(os, "unsetenv", mirror.unsetenv(os.unsetenv), 'del os.environ["CUDA_VISIBLE_DEVICES"]', to=variable)
