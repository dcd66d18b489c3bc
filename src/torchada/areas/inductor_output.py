"""A backward that runs beside the graph trees of its forward: Inductor takes them to be imported, as on CUDA they are by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

# Where Inductor asks for the trees; torch 2.7 does so within the latter.
NAMES = ("maybe_handle_backward_generation", "cudagraph_post_compile")


def patches(context: Context) -> Iterator[Patch]:
    import torch._inductor.output_code as output_code

    name = next(name for name in NAMES if hasattr(output_code, name))
    replacement = _with_graph_trees(getattr(output_code, name))
    yield Patch(output_code, name, replacement, f"torch._inductor.output_code.{name}")


def _with_graph_trees(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        import torch._inductor.cudagraph_trees  # noqa: F401

        return original(*args, **kwargs)

    return disguise(call, original)
