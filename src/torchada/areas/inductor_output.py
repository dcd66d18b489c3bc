"""A backward that runs beside the graph trees of its forward: Inductor takes them to be imported, as on CUDA they are by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    import torch._inductor.output_code as output_code

    handle = _maybe_handle_backward_generation(output_code.maybe_handle_backward_generation)
    why = "torch._inductor.output_code.maybe_handle_backward_generation"
    yield Patch(output_code, "maybe_handle_backward_generation", handle, why)


def _maybe_handle_backward_generation(original: Callable[..., Any]) -> Callable[..., Any]:
    def maybe_handle_backward_generation(*args: Any, **kwargs: Any) -> Any:
        import torch._inductor.cudagraph_trees  # noqa: F401

        return original(*args, **kwargs)

    return disguise(maybe_handle_backward_generation, original)
