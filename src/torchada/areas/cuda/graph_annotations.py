"""Annotations of captured kernels (`torch.cuda.graph(..., enable_annotations=True)`), which need NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import unsupported

_WHY = "annotations are kept by NVIDIA's driver; capture without enable_annotations"


def patches(context: Context) -> Iterator[Patch]:
    # Imported here, because it is not yet an attribute of torch.cuda.
    from torch.cuda import _graph_annotations as annotations

    api = "torch.cuda.graph(enable_annotations=True)"
    if hasattr(annotations, "enable_annotations"):
        refuse = unsupported(context, api, _WHY, annotations.enable_annotations)
        yield Patch(annotations, "enable_annotations", refuse, api, kind="unsupported")
