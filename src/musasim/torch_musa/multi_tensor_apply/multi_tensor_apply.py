"""One size of chunk for many calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from ..utils import ext_loader


class MultiTensorApply:
    """Calls a function of the compiled module with the size of chunks that the object was made with."""

    available = False
    warned = False
    import_err: ImportError | None = None

    def __init__(self, chunk_size: int) -> None:
        try:
            ext_loader.load_ext("_ext")
            MultiTensorApply.available = True
            self.chunk_size = chunk_size
        except ImportError as error:
            MultiTensorApply.available = False
            MultiTensorApply.import_err = error

    def check_avail(self) -> None:
        """Raise if the compiled module could not be loaded."""
        if not MultiTensorApply.available:
            raise RuntimeError(
                "Attempted to call MultiTensorApply method, but MultiTensorApply is not available, original import error "
                "message:",
                MultiTensorApply.import_err,
            )

    def __call__(
        self, op: Callable[..., Any], noop_flag_buffer: Tensor, tensor_lists: Sequence[Sequence[Tensor]], *args: Any
    ) -> Any:
        self.check_avail()
        return op(self.chunk_size, noop_flag_buffer, tensor_lists, *args)
