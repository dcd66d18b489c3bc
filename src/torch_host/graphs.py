"""CUDA graphs on the host: the operators of a capture are recorded, and called again when it is replayed.

A capture executes what it records, because Python needs the tensors, and then puts back what that has written to memory from
before, and the random state: on CUDA a capture computes nothing. A replay calls each operator with the tensors it had, and puts
the results where they were put before: so the program finds new numbers in the tensors that it kept. What Python does around the
operators is not repeated, as on CUDA.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_pools = itertools.count(1)
_under_way: list[CUDAGraph] = []
# CUDA's words, which programs look for.
_REFUSED = (
    "CUDA error: operation not permitted when stream is capturing: {} asks for a value, which a replay could not change"
)
# Arguments of batch norms that are written to, although schemas do not say so.
_WRITTEN = ("running_mean", "running_var")
_BELOW_AUTOGRAD = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory that graphs share. Tensors of the host keep their memory as long as a graph needs it."""
    return 0, next(_pools)


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured."""
    return bool(_under_way)


class _Call:
    """One operator with its arguments, and the tensors that it made."""

    def __init__(self, operator: Any, args: Any, kwargs: Any, made: Any) -> None:
        self.operator, self._args, self._kwargs = operator, args, kwargs
        self._made = _tensors(made)

    def again(self) -> None:
        result = self.operator(*self._args, **self._kwargs)
        for old, new in zip(self._made, _tensors(result)):
            if new is not old and not _is_same_memory(old, new):
                old.copy_(new)
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch._C.ScriptObject) and hasattr(leaf, "wait"):  # of a collective
                leaf.wait()


def _tensors(values: Any) -> list[Any]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _is_same_memory(old: torch.Tensor, new: torch.Tensor) -> bool:
    """A view, or an argument that was written to: the numbers are there already."""
    if old.layout is not torch.strided:
        return False
    return old.data_ptr() == new.data_ptr() and old.shape == new.shape and old.stride() == new.stride()


class _Before:
    """What memory held before a capture wrote to it, for memory that is older than the capture."""

    def __init__(self) -> None:
        self._of_the_capture: dict[int, Any] = {}
        self._saved: dict[int, tuple[Any, Any]] = {}
        self._random = torch.default_generator.get_state()

    def made(self, values: Any) -> None:
        """Memory that the capture itself has made. The storages are held, so no other gets their address."""
        for tensor in _tensors(values):
            self._of_the_capture.setdefault(_address(tensor), tensor)

    def will_be_written(self, operator: Any, args: Any, kwargs: Any) -> None:
        for position, argument in enumerate(operator._schema.arguments):
            is_written = argument.alias_info is not None and argument.alias_info.is_write
            if is_written or argument.name in _WRITTEN:
                value = kwargs.get(argument.name, args[position] if position < len(args) else None)
                for tensor in _tensors(value):
                    self._save(tensor)

    def _save(self, tensor: torch.Tensor) -> None:
        address = _address(tensor)
        if address and address not in self._of_the_capture and address not in self._saved:
            storage = tensor.untyped_storage()
            self._saved[address] = storage, storage.clone()  # type: ignore[no-untyped-call]

    def put_back(self) -> None:
        for storage, saved in self._saved.values():
            storage.copy_(saved)
        torch.default_generator.set_state(self._random)


def _address(tensor: torch.Tensor) -> int:
    """Of the memory of a tensor; 0 where it has none of its own, as a sparse one."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps what is called while it is in force. Raises RuntimeError for an operator that asks for a value, as on CUDA."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[_Call] = []
        self.before = _Before()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags:
            raise RuntimeError(_REFUSED.format(func))
        kwargs = kwargs or {}
        self.before.will_be_written(func, args, kwargs)
        made = func(*args, **kwargs)
        if not any(returned.alias_info for returned in func._schema.returns):
            self.before.made(made)
        self.calls.append(_Call(func, args, kwargs, made))
        return made


class CUDAGraph:
    """torch.cuda.CUDAGraph.

    keep_graph: as on CUDA, instantiate() may be called only then. There is nothing to instantiate.
    """

    def __new__(cls, keep_graph: bool = False) -> Any:
        made = object.__new__(cls)
        made._keep_graph, made._pool = keep_graph, graph_pool_handle()
        made._recorder, made._calls, made._is_captured = None, [], False
        return made

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__()

    _keep_graph: bool
    _pool: tuple[int, int]
    _recorder: _Recorder | None
    _calls: list[_Call]
    _is_captured: bool

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Begin to record what this thread calls. Raises RuntimeError while another graph is captured."""
        if _under_way:
            raise RuntimeError(
                "CUDA error: operation not permitted when stream is capturing: another graph is captured"
            )
        if self._is_captured:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."
            )
        self._pool = self._pool if pool is None else tuple(pool)
        self._recorder = _Recorder()
        _under_way.append(self)
        self._recorder.__enter__()  # type: ignore[no-untyped-call]

    def capture_end(self) -> None:
        if self._recorder is None:
            raise RuntimeError("capture_end() was called without capture_begin()")
        self._recorder.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._recorder.before.put_back()
        self._calls, self._recorder = self._recorder.calls, None
        self._is_captured = True
        _under_way.remove(self)

    def instantiate(self) -> None:
        if not self._keep_graph:
            raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")

    def replay(self) -> None:
        """Call everything again. Raises RuntimeError where nothing has been captured."""
        if not self._is_captured:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        # As on CUDA, autograd takes no notice of what a replay writes.
        with torch._C._AutoDispatchBelowAutograd(), torch._C._ExcludeDispatchKeyGuard(_BELOW_AUTOGRAD):
            for call in self._calls:
                call.again()

    def reset(self) -> None:
        """Forget what was captured, and the memory that it needs."""
        self._calls, self._is_captured = [], False

    def pool(self) -> tuple[int, int]:
        return self._pool

    def enable_debug_mode(self) -> None:
        """What a dump needs is kept in any case."""

    def debug_dump(self, debug_path: str) -> None:
        """Write the names of the operators, in order, as a graph for Graphviz."""
        nodes = [f'  n{number} [label="{call.operator}"];' for number, call in enumerate(self._calls)]
        arrows = [f"  n{number} -> n{number + 1};" for number in range(len(self._calls) - 1)]
        Path(debug_path).write_text("\n".join(["digraph dot {", *nodes, *arrows, "}"]) + "\n", encoding="utf-8")
