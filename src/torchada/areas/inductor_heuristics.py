"""max-autotune's candidates: the configurations that torch tries on CUDA are tried on a backend that has none of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    import torch._inductor.template_heuristics.registry as registry

    find = _find(context, registry.get_registered_heuristic_class)
    why = "torch._inductor.template_heuristics of cuda"
    yield Patch(registry, "get_registered_heuristic_class", find, why, refresh=registry._HEURISTIC_CACHE.clear)


def _find(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    ours = context.backend.device_type

    def get_registered_heuristic_class(template_name: str, device_type: str, op_name: str) -> Any:
        found = original(template_name, device_type, op_name)
        return original(template_name, "cuda", op_name) if found is None and device_type == ours else found

    return disguise(get_registered_heuristic_class, original)
