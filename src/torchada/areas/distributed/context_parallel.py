"""context_parallel: attention of a sequence that is spread over ranks. torch sends CUDA's attention operators round a ring.

The backend's attention takes other operators, which torch does not know. Here each rank gathers the keys and values of all, and
attends with its own queries: the same result, with the memory of the whole keys and values. A backend that brings rings of its own
keeps them. A module that is spread by a plan of parallelize_module says only in its own attention whether it is causal, so its
queries are marked, and the attention that is given marked ones gathers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from torchada.areas.distributed._spread_query import spread_query
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.unsupported import error

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup
    from torch.distributed.device_mesh import DeviceMesh

    Prepared = tuple[tuple[Any, ...], dict[str, Any]]

_API = "torch.distributed.tensor.experimental.context_parallel"
# What scaled_dot_product_attention takes, in order, and what it takes if it is not given.
_ARGUMENTS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
_DEFAULTS = (None, None, None, None, 0.0, False)


def patches(context: Context) -> Iterator[Patch]:
    from torch.distributed.tensor.experimental._context_parallel import _attention as module

    device_type = context.backend.device_type
    if any(device_type in str(operator) for operator in module.custom_ops):
        raise Skip(f"{context.backend.adapter} has rings for its own attention")
    owner, to, spread = module._ContextParallel, "attention to gathered keys and values", spread_query(context.torch)
    prepare = _preparing(context, module, spread, owner.sdpa_input_fn)
    yield Patch(owner, "sdpa_input_fn", prepare, None, kind="emulated", to=to, note=_API)
    finish = _finishing(context, spread, owner.sdpa_output_fn)
    yield Patch(owner, "sdpa_output_fn", finish, None, kind="emulated", to=to, note=_API)


def _preparing(
    context: Context, module: Any, spread: Any, original: Callable[..., Prepared]
) -> Callable[..., Prepared]:
    """In the place of the function that hands the parts of a sequence to the operators as tensors of all ranks."""

    def sdpa_input_fn(self: Any, owner: Any, args: Any, kwargs: dict[str, Any], mesh: DeviceMesh) -> Prepared:
        if not _is_on_device(args, kwargs):
            return original(self, owner, args, kwargs, mesh)
        gather = partial(_gathered, context, module, mesh.get_group(), self.seq_dim)
        if owner is None:
            return gather(args, kwargs)
        return _with_query(lambda query: spread.of(query, gather), args, kwargs)

    def _is_on_device(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        first = [each for each in (*args, *kwargs.values()) if isinstance(each, context.torch.Tensor)][:1]
        return any(each.device.type == context.backend.device_type for each in first)

    return disguise(sdpa_input_fn, original)


def _with_query(change: Callable[[Tensor], Tensor], args: Sequence[Any], kwargs: dict[str, Any]) -> Prepared:
    """The arguments of a module, whose first tensor is its queries, whatever it calls them."""
    if args:
        return (change(args[0]), *args[1:]), kwargs
    name = next(name for name, value in kwargs.items() if hasattr(value, "as_subclass"))
    return (), {**kwargs, name: change(kwargs[name])}


def _finishing(context: Context, spread: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of the function that makes tensors of this rank again of a module's results."""

    def sdpa_output_fn(self: Any, owner: Any, inputs: Any, outputs: Any, mesh: DeviceMesh) -> Any:
        return context.torch.utils._pytree.tree_map_only(
            spread, spread.plain, original(self, owner, inputs, outputs, mesh)
        )

    return disguise(sdpa_output_fn, original)


def _gathered(
    context: Context, module: Any, group: ProcessGroup, dim: int, args: Sequence[Any], kwargs: dict[str, Any]
) -> Prepared:
    given = dict(zip(_ARGUMENTS, _DEFAULTS)) | dict(zip(_ARGUMENTS, args)) | kwargs
    if given["attn_mask"] is not None:
        raise error(context, f"{_API} with attn_mask", "torch's rings take none either; is_causal is taken")
    query, key, value = given["query"], given["key"], given["value"]
    balanced = module._cp_options.enable_load_balance
    if given["is_causal"]:
        mine = _positions(context.torch, query, dim, group.rank(), group.size(), balanced)
        ranks = range(group.size())
        theirs = [_positions(context.torch, key, dim, rank, group.size(), balanced) for rank in ranks]
        given["attn_mask"] = mine[:, None] >= context.torch.cat(theirs)[None, :]
    given |= {"is_causal": False, "key": _of_all(key, dim, group), "value": _of_all(value, dim, group)}
    return (), given


def _positions(torch: Any, part: Tensor, dim: int, rank: int, ranks: int, balanced: bool) -> Tensor:
    """The places in the sequence of what a rank has: balanced, a piece from the front and one from the back."""
    length = part.shape[dim]
    first = torch.arange(length, device=part.device)
    half = length // 2
    back = torch.where(first < half, rank * half, (2 * ranks - 2 - rank) * half)
    places: Tensor = first + (back if balanced else rank * length)
    return places


def _of_all(part: Tensor, dim: int, group: ProcessGroup) -> Tensor:
    from torch.distributed import _functional_collectives as functional

    names = ("all_gather_single_autograd", "all_gather_tensor_autograd")
    gather = next(getattr(functional, name) for name in names if hasattr(functional, name))
    whole: Tensor = gather(part.contiguous(), dim, group)
    return whole
