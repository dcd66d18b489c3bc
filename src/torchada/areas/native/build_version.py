"""torch.version.cuda for a setup.py that was told to take this machine for one with CUDA; for everybody else it stays as it is.

Builds compare it with what `nvcc -V` says, so it is the version that our stand-in for nvcc gives. A setup.py whose torch was built
for CUDA finds a version anyhow, and compares: it need not be told.
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
        raise Skip("this process executes no setup.py")
    if context.torch.version.cuda is None and not context.settings.force_cuda_available:
        raise Skip("torch.version.cuda tells the truth; TORCHADA_FORCE_CUDA_AVAILABLE=1 is not set")
    from torchada.building.cuda_home import VERSION

    yield Patch(context.torch.version, "cuda", VERSION, "torch.version.cuda", kind="emulated", to=repr(VERSION))
