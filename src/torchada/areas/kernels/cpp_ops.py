"""TORCHADA_ENABLE_CPP_OPS: operators whose kernel for the backend's device is missing or wrong get one from torchada.

The kernels are chosen when the backend is activated, before the program has a tensor, so that no result depends on when the
compiler finished.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    if not context.settings.cpp_ops:
        raise Skip("TORCHADA_ENABLE_CPP_OPS is not set")
    from torchada.areas.kernels.overrides.overrides import Registrations, wanted

    kernels = Registrations(context.backend.names.dispatch_key, context.settings.cpp_ops_logged)
    for override in wanted(context):
        note = f"aten::{override.name}"
        yield Patch(
            kernels, override.name, override, None, note=note, kind="emulated", to=f"torchada's {override.source}"
        )
