"""Collectives of gloo on tensors of the device: copies on the CPU take their place, and what is received is copied back.

The first copy waits for the stream, as gloo does for CUDA. The last is made on the stream of the call when the operation has ended,
and whoever waits for the work waits for it.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchada.redirect.context import Context
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from torch import Tensor

_SELECT = "BackendSelect"
# The operators of c10d by the place of the group. Before it are the tensors: what is received, and what is sent.
_OPERATORS = {
    "broadcast_": 1,
    "allreduce_": 1,
    "allreduce_coalesced_": 1,
    "reduce_": 1,
    "send": 1,
    "recv_": 1,
    "recv_any_source_": 1,
    "allgather_": 2,
    "_allgather_base_": 2,
    "allgather_coalesced_": 2,
    "allgather_into_tensor_coalesced_": 2,
    "reduce_scatter_": 2,
    "_reduce_scatter_base_": 2,
    "reduce_scatter_tensor_coalesced_": 2,
    "gather_": 2,
    "scatter_": 2,
    "alltoall_": 2,
    "alltoall_base_": 2,
}


class Operators:
    """The owner of the patch: kernels that wait until they are needed, and are taken back with it."""

    __torchada_owner__ = True

    def __init__(self) -> None:
        self._staging: Any = MISSING
        self.handle: Any = None

    def get(self, name: str) -> Any:
        return self._staging

    def set(self, name: str, staging: Staging) -> None:
        self._staging = staging

    def delete(self, name: str) -> None:
        self._staging = MISSING
        if self.handle is not None:
            self.handle.reset()
            self.handle = None


class Staging:
    """The kernels of c10d's operators."""

    def __init__(self, context: Context) -> None:
        self._context, self._torch = context, context.torch
        self._select = getattr(context.torch._C.DispatchKey, _SELECT)
        self.operators = Operators()
        self._unfinished: set[Any] = set()  # so that they outlive their way through C++

    def begin(self) -> None:
        """Register the kernels, once."""
        if self.operators.handle is not None or self.operators.get("gloo") is MISSING:
            return
        self.operators.handle = handle = self._torch._C._dispatch_library("IMPL", "c10d", "")
        with warnings.catch_warnings():  # of kernels that have been registered before and taken back
            warnings.simplefilter("ignore")
            for name, place in _OPERATORS.items():
                handle.impl(name, _SELECT, self._kernel(name, place), True)

    def concerns(self, values: Any) -> bool:
        """Whether a tensor of the device is among them."""
        return self._device(values) is not None

    def _device(self, values: Any) -> Any:
        if isinstance(values, self._torch.Tensor):
            return values.device if values.device.type == self._context.backend.device_type else None
        if isinstance(values, list | tuple):
            return next((device for value in values if (device := self._device(value)) is not None), None)
        return None

    def _kernel(self, name: str, place: int) -> Any:
        operator = getattr(self._torch.ops.c10d, name).default
        unbox = self._torch.distributed.ProcessGroup.unbox

        def kernel(keys: Any, *args: Any) -> Any:
            device = self._device(args[:place])
            if device is None or unbox(args[place])._get_backend(device).name() != "gloo":
                return operator.redispatch(keys.remove(self._select), *args)
            copies = _map(args[:place], lambda tensor: tensor.detach().cpu())
            answer = operator(*copies, *args[place:])
            if name == "send":
                return answer
            if isinstance(answer, tuple):
                return args[0], self._back(answer[1], device, args[0], copies[0])
            return self._back(answer, device, args[0], copies[0])

        return kernel

    def _back(self, boxed: Any, device: Any, received: Any, copies: Any) -> Any:
        """The work that ends when `copies` have been copied to `received`."""
        native = self._torch._C._distributed_c10d
        work = native.Work.unbox(boxed)
        try:
            future = work.get_future()
        except RuntimeError:  # that of messages and of reduce_scatter has none
            waiting = self._waiting_work(work, received, copies)
            self._unfinished.add(waiting)
            return waiting.boxed()
        done = self._torch.futures.Future(devices=[device])
        namespace, stream = self._context.namespace, self._context.namespace.current_stream(device)
        value = [received] if isinstance(received, self._torch.Tensor) else list(received)

        def settle(future: Any) -> None:
            try:
                future.value()
                with namespace.stream(stream), self._torch.no_grad():
                    _copy(received, copies)
                    done.set_result(value)
            except Exception as error:
                done.set_exception(error)

        future.add_done_callback(settle)
        return native._create_work_from_future(done).boxed()

    @cached_property
    def _waiting_work(self) -> Any:
        torch, unfinished = self._torch, self._unfinished

        class WaitingWork(torch.distributed.Work):  # type: ignore[misc,name-defined]
            """Copies what was received when the program waits for it."""

            def __init__(self, work: Any, received: Any, copies: Any) -> None:
                super().__init__()
                self._work, self._received, self._copies = work, received, copies

            def wait(self, *timeout: Any) -> bool:
                if self in unfinished:
                    unfinished.remove(self)
                    self._work.wait(*timeout)
                    with torch.no_grad():
                        _copy(self._received, self._copies)
                return True

            def _source_rank(self) -> int:
                rank: int = self._work._source_rank()
                return rank

        return WaitingWork


def _map(values: Any, function: Any) -> Any:
    if isinstance(values, list | tuple):
        return type(values)(_map(value, function) for value in values)
    return function(values)


def _copy(targets: Any, sources: Any) -> None:
    if isinstance(targets, list | tuple):
        for target, source in zip(targets, sources):
            _copy(target, source)
        return
    tensor: Tensor = targets.detach()
    tensor.copy_(sources, non_blocking=True)
