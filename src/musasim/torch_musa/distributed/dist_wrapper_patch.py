"""Checkpoints: where torch lets one rank compute and send each other its part, here every rank computes all parts.

A planner's results are then not scattered, which MCCL cannot do for Python objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.distributed.checkpoint.api import CheckpointException, _is_wrapped_exception, _wrap_exception
from torch.distributed.checkpoint.utils import _DistWrapper, _get_failure_dict


def reduce_scatter(
    self: Any, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], list[Any]]
) -> Any:
    """This rank's element of `reduce_fun` of what `map_fun` gives on each rank, or CheckpointException with all failures."""
    answers = self.all_gather_object(_attempt(map_fun))
    failures = _get_failure_dict(answers)
    if not failures:
        results = _attempt(lambda: reduce_fun(answers))
        if not _is_wrapped_exception(results):
            return _not_failed(results[self.rank])
        failures[self.rank] = results
    raise CheckpointException(step, failures)


def _not_failed(result: Any) -> Any:
    if isinstance(result, CheckpointException):
        raise result
    return result


def _attempt(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except BaseException as error:  # as torch does, because the other ranks are waiting
        return _wrap_exception(error)


def _apply_dist_wrapper_patch() -> None:
    wrapper: Any = _DistWrapper
    wrapper.reduce_scatter = reduce_scatter


_apply_dist_wrapper_patch()
