"""torch.version.cuda for a setup.py that runs with TORCHADA_FORCE_CUDA_AVAILABLE=1; for any other program it stays unchanged.

Builds compare it with the output of `nvcc -V`, so it is the version that torchada's replacement for nvcc prints. If torch was
built for CUDA, a setup.py finds a version in any case and compares it, so the variable is not needed there.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    from torchada.building.scripts import is_setup_script

    if context.backend.build is None:
        raise Skip(f"{context.backend.adapter} does not build extensions")
    if not is_setup_script():
        raise Skip("this process does not run a setup.py")
    if context.torch.version.cuda is None and not context.settings.force_cuda_available:
        raise Skip("torch.version.cuda stays None, because TORCHADA_FORCE_CUDA_AVAILABLE=1 is not set")
    from torchada.building.cuda_home import VERSION

    yield Patch(context.torch.version, "cuda", VERSION, "torch.version.cuda", kind="emulated", to=repr(VERSION))
