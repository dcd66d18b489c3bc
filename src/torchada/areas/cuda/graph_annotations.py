"""Annotations of captured kernels (`torch.cuda.graph(..., enable_annotations=True)`), which need NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import error, unsupported

_WHY = "annotations are kept by NVIDIA's driver; capture without enable_annotations"


def patches(context: Context) -> Iterator[Patch]:
    # Imported here, because it is not yet an attribute of torch.cuda.
    from torch.cuda import _graph_annotations as annotations

    api = "torch.cuda.graph(enable_annotations=True)"
    if hasattr(annotations, "enable_annotations"):
        refuse = unsupported(context, api, _WHY, annotations.enable_annotations)
        yield Patch(annotations, "enable_annotations", refuse, api, kind="unsupported")
    else:
        switch = _switch(context, api, vars(annotations)["_set_annotations_enabled"])
        yield Patch(annotations, "_set_annotations_enabled", switch, api, kind="unsupported")


def _switch(context: Context, api: str, original: Callable[[bool], None]) -> Callable[[bool], None]:
    """From torch 2.15 on, each capture calls it, mostly to say that there are no annotations."""

    def _set_annotations_enabled(enabled: bool) -> None:
        if enabled:
            raise error(context, api, _WHY)
        original(enabled)

    return disguise(_set_annotations_enabled, original)
