"""One launch of a kernel, as work of the device: profiled and captured like an operator, which is what carries it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from musasim import tally
from musasim.triton.arguments import Pointer, Signature, base_of
from musasim.triton.device import max_threads

__all__ = ["MusaLauncher"]

_library: Any = torch.library
_OPERATOR = _library.Library("musasim", "FRAGMENT")
_OPERATOR.define("triton_kernel(int call, Tensor(a!)[] tensors) -> ()")
# What is called. A launch that a graph has captured stays for as long as the process does, because graphs refer to it by number.
_CALLS: dict[int, Callable[[], None]] = {}
_LARGEST_GRID = (2**31 - 1, 65535, 65535)
_last = 0


def _run(call: int, tensors: list[torch.Tensor]) -> None:
    _CALLS[call]()


_OPERATOR.impl("triton_kernel", _run, "CPU")


class MusaLauncher:
    """Launches one compiled kernel. Triton makes it from the kernel's source and calls it with the grid and the arguments."""

    def __init__(self, source: Any, metadata: Any) -> None:
        if not hasattr(source, "fn"):
            raise NotImplementedError(
                f"musasim interprets the Python source of a kernel, and {metadata.name!r} is given as IR without one"
            )
        # Here, because Triton asks for its backends before it has a language.
        from musasim.triton.programs import Kernel

        self._signature = Signature(source, metadata.name)
        self._kernel = Kernel(source.fn, self._signature, metadata)
        self._threads = metadata.num_warps * metadata.target.warp_size

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: Any,
        metadata: Any,
        launch: Any,
        enter: Any,
        leave: Any,
        *args: Any,
    ) -> None:
        """Launch a grid of `x` by `y` by `z` programs on the current stream. The hooks get `launch`."""
        musa: Any = torch.musa  # type: ignore[attr-defined]
        device = torch.device("musa", musa.current_device())
        self._check((x, y, z), device)
        arguments = self._signature.named(args)
        tensors = self._signature.tensors(arguments, device)
        if enter is not None:
            enter(launch)
        if x * y * z:
            pointers = {name: _without_tensors(value) for name, value in arguments.items()}
            grid = (int(x), int(y), int(z))
            tally.count_triton(self._signature.name)
            _submit(
                lambda: self._kernel.run(grid, pointers, device), [t for t in tensors if t.device.type != "cpu"], musa
            )
        if leave is not None:
            leave(launch)

    def _check(self, grid: tuple[int, int, int], device: torch.device) -> None:
        from triton.runtime.errors import OutOfResources

        if self._threads > max_threads(device.index):
            raise OutOfResources(self._threads, max_threads(device.index), "threads")
        if any(size < 0 or size > largest for size, largest in zip(grid, _LARGEST_GRID)):
            raise RuntimeError(
                f"Triton Error [MUSA]: invalid argument (kernel {self._signature.name!r}: a grid of {grid}, "
                f"and the largest is {_LARGEST_GRID})"
            )


def _submit(call: Callable[[], None], tensors: list[torch.Tensor], musa: Any) -> None:
    global _last
    if not tensors:
        call()
        return
    number = _last = _last + 1
    _CALLS[number] = call
    captured = musa.is_current_stream_capturing()
    try:
        with torch._C._AutoDispatchBelowAutograd():
            torch.ops.musasim.triton_kernel.default(number, tensors)
    finally:
        if not captured:
            del _CALLS[number]


def _without_tensors(value: Any) -> Any:
    """An argument with a Pointer for each tensor: a graph that replays the launch must not keep the tensors alive."""
    if isinstance(value, tuple):
        return (
            type(value)(*map(_without_tensors, value))
            if hasattr(value, "_fields")
            else tuple(map(_without_tensors, value))
        )
    if not hasattr(value, "data_ptr"):
        return value
    tensor = base_of(value)
    storage = tensor.untyped_storage()
    return Pointer(value.data_ptr(), storage.data_ptr(), storage.nbytes())
