"""How the fused root mean square normalisation is split: the normalised dimensions are whole on each device, the rows need not be.

The weight is whole everywhere, and its gradient is a partial sum over what splits the rows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.tensor import _op_schema
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor._op_schema import OpStrategy, RuntimeSchemaInfo
from torch.distributed.tensor._ops._math_ops import (
    _infer_reduce_dims_map,
    _replicate_dims_start_at,
    map_placements_after_reduction,
)
from torch.distributed.tensor._ops.utils import generate_redistribute_costs, register_op_strategy
from torch.distributed.tensor._utils import normalize_to_torch_size

# Its name until torch 2.7 is PlacementStrategy.
_OpSpec: Any = getattr(_op_schema, "OpSpec", None) or _op_schema.PlacementStrategy  # type: ignore[attr-defined]


def fused_rmsnorm_strategy(op_schema: Any) -> OpStrategy:
    """For `_fused_rmsnorm_forward(input, normalized_shape, eps, weight)`: both results are split as the input."""
    input, normalized_shape, _, weight = op_schema.args_schema
    strategies = []
    for i, strategy in enumerate(input.strategies):
        rows = _whole_from(_rows(input, normalized_shape), strategy.output_spec)
        arguments = [(input, rows)]
        if weight:
            arguments.append((weight, _whole_from(0, weight.strategies[i].output_spec)))
        strategies.append(_spec(rows, arguments))
    return OpStrategy(strategies)


def fused_rmsnorm_bwd_strategy(op_schema: Any) -> OpStrategy:
    """For `_fused_rmsnorm_backward(grad_out, invvar, input, normalized_shape, eps, weight)`: the input decides."""
    grad_out, invvar, input, normalized_shape, _, weight = op_schema.args_schema
    assert isinstance(weight, OpStrategy)
    outer = _rows(input, normalized_shape)
    strategies = []
    for i, strategy in enumerate(input.strategies):
        rows = _whole_from(outer, strategy.output_spec)
        whole = _whole_from(0, weight.strategies[i].output_spec)
        arguments = [(grad_out, rows), (invvar, invvar.strategies[i].output_spec), (input, rows), (weight, whole)]
        strategies.append(_spec((rows, _summed(outer, rows, whole)), arguments))
    return OpStrategy(strategies)


def _rows(input: OpStrategy, normalized_shape: Any) -> int:
    """The number of dimensions in front of the normalised ones."""
    dims: int = input.ndim
    return dims - len(normalize_to_torch_size(normalized_shape))


def _whole_from(dim: int, spec: DTensorSpec) -> DTensorSpec:
    """The tensor, not split in `dim` and the dimensions behind it."""
    return DTensorSpec(spec.mesh, _replicate_dims_start_at(spec.placements, dim), tensor_meta=spec.tensor_meta)


def _summed(outer: int, rows: DTensorSpec, weight: DTensorSpec) -> DTensorSpec:
    """The weight's gradient: each device has the sum over its own rows."""
    dims = list(range(outer))
    kept = _infer_reduce_dims_map(dims, rows.ndim, False)
    placements = map_placements_after_reduction(rows.placements, dims, kept, "sum")
    return DTensorSpec(weight.mesh, placements, tensor_meta=weight.tensor_meta)


def _spec(results: Any, arguments: list[tuple[OpStrategy, DTensorSpec]]) -> Any:
    """One way to split the operator, with what it costs to bring each argument there."""
    return _OpSpec(
        output_specs=results,
        input_specs=[spec for _, spec in arguments],
        redistribute_cost=[generate_redistribute_costs(source, spec) for source, spec in arguments],
    )


def _register() -> None:
    """Register the rule with DTensor. Arguments from the given place on are the same on all devices, and part of the rule's key."""
    aten: Any = torch.ops.aten
    for operator, first_static, rule in (
        (aten._fused_rmsnorm_forward.default, 1, fused_rmsnorm_strategy),
        (aten._fused_rmsnorm_backward.default, 3, fused_rmsnorm_bwd_strategy),
    ):
        register_op_strategy([operator], schema_info=RuntimeSchemaInfo(first_static))(rule)


_register()
