"""torch.multiprocessing: tensors of the device are sent to another process as handles, as CUDA's are.

A build of torch that comes with the backend may do so already. Other builds try to send the storage, which torch refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import Tensor

    Reduced = tuple[object, ...]  # a function and its arguments


def patches(context: Context) -> Iterator[Patch]:
    reductions = context.torch.multiprocessing.reductions
    original = reductions.reduce_tensor
    reduce = _reduce_tensor(context, original)
    note = "tensors sent to another process stay on the device"
    yield Patch(reductions, "reduce_tensor", reduce, None, note=note)
    reducers = vars(ForkingPickler)["_extra_reducers"]
    for kind, reducer in list(reducers.items()):
        if reducer is original:
            yield Patch(reducers, kind, reduce, None, note=note)


def _reduce_tensor(context: Context, original: Callable[[Tensor], Reduced]) -> Callable[[Tensor], Reduced]:
    reductions, device_type = context.torch.multiprocessing.reductions, context.backend.device_type

    def reduce_tensor(tensor: Tensor) -> Reduced:
        result = original(tensor)
        if result[0] is not reductions.rebuild_tensor or tensor.device.type != device_type:
            return result
        storage = tensor._typed_storage()  # type: ignore[no-untyped-call]  # torch does not annotate it
        device, handle, *rest = storage._share_cuda_()
        size, offset, *signals = rest
        reductions.shared_cache[handle] = reductions.StorageWeakRef(storage)
        layout = (tensor.size(), tensor.stride(), tensor.storage_offset())
        memory = (type(storage), tensor.dtype, device, handle, size, offset)
        return reductions.rebuild_cuda_tensor, (type(tensor), *layout, *memory, tensor.requires_grad, *signals)

    return disguise(reduce_tensor, original)
