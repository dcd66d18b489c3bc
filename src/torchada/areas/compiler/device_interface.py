"""torch.compile's interface to a device: a request for CUDA's gets the one that the backend has registered."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import translating

_API = "torch._dynamo.device_interface"


def patches(context: Context) -> Iterator[Patch]:
    import torch._dynamo.device_interface as interfaces

    find = translating(interfaces.get_interface_for_device, context.devices, "device", 0)
    yield Patch(interfaces, "get_interface_for_device", find, f'{_API}.get_interface_for_device("cuda")')
    # It is None in a torch built without CUDA; everything else in CudaInterface calls torch.cuda.
    stream = getattr(context.torch._C, "_cuda_getCurrentRawStream", None)
    if stream is not None:
        yield Patch(interfaces, "get_cuda_stream", stream, f"{_API}.get_cuda_stream")
        yield Patch(
            interfaces.CudaInterface, "get_raw_stream", staticmethod(stream), f"{_API}.CudaInterface.get_raw_stream"
        )
