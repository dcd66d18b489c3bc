"""make_graphed_callables: each callable becomes one autograd node that replays two graphs.

That of 2.7.1 needs something to differentiate and a run to warm up, and its modules take no arguments by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree

from musasim.base import release


def make(callables: Any, sample_args: Any, num_warmup_iters: int, allow_unused_input: bool, pool: Any = None) -> Any:
    from .graphs import graph_pool_handle

    if torch.is_autocast_enabled() and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
        )
    alone = not isinstance(callables, tuple)
    pairs = [(callables, sample_args)] if alone else list(zip(callables, sample_args))
    sections = [_Section(call, args, allow_unused_input) for call, args in pairs]
    _warm_up(sections, num_warmup_iters)
    # All graphs share one pool and are recorded in the order of their use, so no replay overwrites what another still needs.
    pool = graph_pool_handle() if pool is None else pool
    for section in sections:
        section.record_forward(pool)
    for section in reversed(sections):
        section.record_backward(pool)
    graphed = tuple(section.replacement() for section in sections)
    return graphed[0] if alone else graphed


def _warm_up(sections: list[_Section], iterations: int) -> None:
    from ..core.device import synchronize
    from ..core.stream import Stream, StreamContext

    synchronize()
    if iterations < 1 and not release.since("2.9.1"):
        # The results of the last run are deleted, whether there was one or not.
        raise UnboundLocalError("cannot access local variable 'outputs' where it is not associated with a value")
    with StreamContext(Stream()):
        for section in sections:
            for _ in range(iterations):
                section.run_once()
    synchronize()


class _Section:
    """One callable with the tensors its graphs read and write."""

    def __init__(self, call: Callable[..., Any], args: tuple[Any, ...], allow_unused: bool) -> None:
        from .graphs import MUSAGraph

        self.call, self.args, self.allow_unused = call, args, allow_unused
        self.user_inputs = tuple(_pytree.arg_tree_leaves(*args))
        self.parameters = tuple(call.parameters()) if isinstance(call, torch.nn.Module) else ()
        #: Everything that may need a gradient: the caller's arguments, then the parameters.
        self.inputs = self.user_inputs + self.parameters
        self.forward_graph, self.backward_graph = MUSAGraph(), MUSAGraph()
        self._check()

    def _check(self) -> None:
        if not all(isinstance(leaf, torch.Tensor) for leaf in self.user_inputs):
            raise AssertionError(
                "sample_args for each callable must contain only Tensors. Other types are not allowed."
            )
        if not isinstance(self.call, torch.nn.Module):
            return
        if self.call._backward_hooks or self.call._forward_hooks or self.call._forward_pre_hooks:
            raise AssertionError("Modules must not have hooks registered at the time they are passed.")
        if any(buffer.requires_grad for buffer in self.call.buffers()):
            raise AssertionError("Only parameters may be trainable. All buffers must have requires_grad=False.")

    def run_once(self) -> None:
        outputs = _pytree.tree_leaves(self.call(*self.args))
        self._gradients(outputs, [torch.empty_like(out) for out in outputs if out.requires_grad])

    def _gradients(self, outputs: Any, output_grads: Any) -> tuple[Any, ...]:
        """One entry for each input: its gradient, or None if it needs none."""
        wanted = tuple(tensor for tensor in self.inputs if tensor.requires_grad)
        differentiable = tuple(out for out in outputs if out.requires_grad)
        if not differentiable and release.since("2.9.1"):
            return (None,) * len(self.inputs)
        gradients = iter(
            torch.autograd.grad(
                differentiable, wanted, grad_outputs=tuple(output_grads), allow_unused=self.allow_unused
            )
        )
        return tuple(next(gradients) if tensor.requires_grad else None for tensor in self.inputs)

    def record_forward(self, pool: Any) -> None:
        from .graphs import graph

        with graph(self.forward_graph, pool=pool):
            outputs = self.call(*self.args)
        leaves, self.output_spec = _pytree.tree_flatten(outputs)
        self.outputs = tuple(leaves)

    def record_backward(self, pool: Any) -> None:
        from .graphs import graph

        self.output_grads = tuple(torch.empty_like(out) if out.requires_grad else None for out in self.outputs)
        if not any(grad is not None for grad in self.output_grads):  # 2.7.1 has raised while it warmed up
            self.input_grads: tuple[Any, ...] = (None,) * len(self.inputs)
            return
        with graph(self.backward_graph, pool=pool):
            self.input_grads = self._gradients(self.outputs, [grad for grad in self.output_grads if grad is not None])
        # The autograd graph belongs to the stream of the recording. If it stayed alive, its accumulation nodes would get the
        # gradients of later iterations on another stream, and torch would warn.
        self.outputs = tuple(out.detach() for out in self.outputs)

    def replay_forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        _fill(self.user_inputs, inputs)
        self.forward_graph.replay()
        return tuple(out.detach() for out in self.outputs)

    def replay_backward(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        _fill(self.output_grads, grads)
        self.backward_graph.replay()
        return tuple(grad if grad is None else grad.detach() for grad in self.input_grads)

    def as_function(self) -> Callable[..., Any]:
        node = _autograd_node(self)

        def graphed(*args: Any) -> Any:
            leaves = _pytree.arg_tree_leaves(*args)
            return _pytree.tree_unflatten(node.apply(*leaves, *self.parameters), self.output_spec)

        return graphed

    def replacement(self) -> Any:
        graphed = self.as_function()
        if not isinstance(self.call, torch.nn.Module):
            return graphed
        module, plain, recorded_mode = self.call, self.call.forward, self.call.training

        def forward(*args: Any, **kwargs: Any) -> Any:
            # The graph was recorded in one mode. In the other one the module works as before.
            return (graphed if module.training == recorded_mode else plain)(*args, **kwargs)

        module.forward = forward if release.since("2.9.1") else lambda *args: forward(*args)
        return module


def _fill(fixed: tuple[Any, ...], given: tuple[Any, ...]) -> None:
    for place, value in zip(fixed, given):
        if place is not None and place.data_ptr() != value.data_ptr():
            place.copy_(value)


def _autograd_node(section: _Section) -> Any:
    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            return section.replay_forward(inputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            return section.replay_backward(grads)

    return Graphed
