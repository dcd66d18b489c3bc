"""Collectives of gloo on tensors of the device: copies on the CPU take their place, and what is received is copied back.

The first copy waits for the stream, as gloo does for CUDA. The last is made on the stream of the call when the operation has ended,
and whoever waits for the work waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from torchada.areas.distributed._collectives import device_in
from torchada.redirect.context import Context

if TYPE_CHECKING:
    from torch import Tensor


class Staging:
    """A step of the collectives."""

    def __init__(self, context: Context) -> None:
        self._context, self._torch = context, context.torch
        self._unfinished: set[Any] = set()  # so that they outlive their way through C++

    def device(self, values: Any) -> Any:
        """That of the first of them that is a tensor of the backend's device, or None."""
        return device_in(self._torch, self._context.backend.device_type, values)

    def __call__(self, operator: Any, place: int, args: tuple[Any, ...]) -> Any:
        device = self.device(args[:place])
        group = self._torch.distributed.ProcessGroup.unbox(args[place])
        if device is None or group._get_backend(device).name() != "gloo":
            return None
        copies = _map(args[:place], lambda tensor: tensor.detach().cpu())
        answer = operator(*copies, *args[place:])
        if operator is self._torch.ops.c10d.send.default:
            return answer
        if isinstance(answer, tuple):
            return args[0], self._back(answer[1], device, args[0], copies[0])
        return self._back(answer, device, args[0], copies[0])

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

        if self._threads_of_gloo_may_call:
            future.add_done_callback(settle)
        else:
            Thread(target=_after, args=(work, partial(settle, future)), daemon=True).start()
        return native._create_work_from_future(done).boxed()

    @cached_property
    def _threads_of_gloo_may_call(self) -> bool:
        """torch 2.7 takes a group down with Python's lock held, and waits for gloo's threads: one that is still on its way out of a
        function of Python, after which the program goes on, needs that lock, and neither comes to an end.
        """
        return bool(self._torch.__version__ >= (2, 9))

    @cached_property
    def _waiting_work(self) -> Any:
        torch, unfinished = self._torch, self._unfinished

        class WaitingWork(torch.distributed.Work):  # type: ignore[misc,name-defined]
            """Copies what was received when the program waits for it."""

            def __init__(self, work: Any, received: Any, copies: Any) -> None:
                super().__init__()
                self._work, self._received, self._copies = work, received, copies
                self._has_received = False

            def wait(self, *timeout: Any) -> bool:
                unfinished.discard(self)
                if not self._has_received:
                    self._work.wait(*timeout)  # after an error, the next call waits again, as gloo's own does
                    with torch.no_grad():
                        _copy(self._received, self._copies)
                    self._has_received = True
                return True

            def is_completed(self) -> bool:
                return self._has_received

            def source_rank(self) -> int:
                rank: int = self._work.source_rank()
                return rank

            def _source_rank(self) -> int:
                rank: int = self._work._source_rank()
                return rank

        return WaitingWork


def _after(work: Any, act: Callable[[], None]) -> None:
    """Act when the work has ended, in whatever way."""
    with suppress(Exception):
        work.wait()
    act()


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
