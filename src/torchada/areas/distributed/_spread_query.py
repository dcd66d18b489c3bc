"""Queries of a part of a sequence: attention that is given them, in whatever module, attends to the keys and values of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    Gather = Callable[[Sequence[Any], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]

_ATTENTION = "scaled_dot_product_attention"


@cache
def spread_query(torch: Any) -> Any:
    """The class of such queries. What is made of them (a transpose, another type) stays spread; attention's result is plain."""
    pytree = torch.utils._pytree

    class SpreadQuery(torch.Tensor):  # type: ignore[misc]
        gather: Gather

        @classmethod
        def of(cls, query: Tensor, gather: Gather) -> Any:
            spread: Any = query.as_subclass(cls)
            spread.gather = gather
            return spread

        @staticmethod
        def plain(spread: Tensor) -> Any:
            with torch._C.DisableTorchFunctionSubclass():
                return spread.as_subclass(torch.Tensor)

        @classmethod
        def __torch_function__(
            cls, function: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            given = (tuple(args), kwargs or {})
            gather = next(each.gather for each in pytree.tree_leaves(given) if isinstance(each, cls))
            args, kwargs = pytree.tree_map_only(cls, cls.plain, given)
            if getattr(function, "__name__", "") == _ATTENTION:
                args, kwargs = gather(args, kwargs)
                return function(*args, **kwargs)
            return pytree.tree_map_only(torch.Tensor, lambda made: cls.of(made, gather), function(*args, **kwargs))

    return SpreadQuery
