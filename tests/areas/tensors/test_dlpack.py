"""DLPack, array interfaces, copies between devices."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils import dlpack


def test_capability_dlpack_in_and_out() -> None:
    """There and back it is the same memory, by each of the names."""
    x = torch.arange(6.0, device="cuda:1").view(2, 3).t()
    with torch.cuda.device(1):
        again = (
            torch.from_dlpack(x),
            dlpack.from_dlpack(x),
            dlpack.from_dlpack(dlpack.to_dlpack(x)),
            dlpack.from_dlpack(x.__dlpack__()),
        )
    for y in again:
        assert y.device == x.device and y.stride() == x.stride() and y.data_ptr() == x.data_ptr()
    y.fill_(7)
    assert x.tolist() == [[7, 7]] * 3


def test_the_memory_outlives_the_tensor() -> None:
    x = torch.full((4,), 3.0, device="cuda")
    y = torch.from_dlpack(x)
    del x
    torch.zeros(4, device="cuda")
    assert y.tolist() == [3, 3, 3, 3]


def test_the_device_is_an_extension_not_cuda() -> None:
    assert torch.zeros(1, device="cuda:1").__dlpack_device__() == (dlpack.DLDeviceType.kDLExtDev, 1)
    assert torch.zeros(1).__dlpack_device__() == (dlpack.DLDeviceType.kDLCPU, 0)
    assert dlpack.DLDeviceType(2).name in ("kDLCUDA", "kDLGPU")


def test_other_libraries_refuse_memory_that_they_cannot_read() -> None:
    class Foreign:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.tensor = tensor

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.tensor.__dlpack__()

        def __dlpack_device__(self) -> Any:
            return self.tensor.__dlpack_device__()

    x = torch.zeros(2, device="cuda")
    with pytest.raises((RuntimeError, BufferError), match="Unsupported device"):
        np.from_dlpack(Foreign(x))
    assert torch.from_dlpack(Foreign(x)).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("keep", [{}, {"stream": -1}])
def test_no_stream_waits_unless_asked_to(keep: dict[str, int]) -> None:
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(10**9)
        torch.zeros(1, device="cuda").__dlpack__(**keep)
    assert torch.cuda.default_stream().query()


def test_the_consumers_stream_waits_for_the_current_one() -> None:
    x = torch.zeros(1, device="cuda")
    mine, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(mine):
        torch.cuda._sleep(3 * 10**8)
        x.__dlpack__(stream=consumer.musa_stream)
        assert not consumer.query()
        assert torch.cuda.default_stream().query()
        x.__dlpack__(stream=1)
        assert not torch.cuda.default_stream().query()
    torch.cuda.synchronize()


def test_streams_that_cuda_refuses() -> None:
    x = torch.zeros(1, device="cuda")
    with pytest.raises(BufferError, match="per-thread"):
        x.__dlpack__(stream=2)
    with pytest.raises(AssertionError, match="unsupported stream"):
        x.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream=torch.cuda.current_stream())


def test_a_tensor_of_another_device_than_the_current_one() -> None:
    """torch 2.7 exports it, and newer versions do not. None asks when it makes the capsule without the method."""
    x = torch.arange(2.0, device="cuda:1")
    if "different CUDA device index" not in inspect.getsource(torch._tensor):
        assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
        return
    words = r"Can't export tensors on a different CUDA device index. Expected: 1. Current device: 0\."
    for export in (x.__dlpack__, lambda: torch.from_dlpack(x), lambda: x.__dlpack__(stream=-1)):
        with pytest.raises(BufferError, match=words):
            export()
    assert dlpack.from_dlpack(dlpack.to_dlpack(x)).data_ptr() == x.data_ptr()


def test_tensors_that_cannot_be_exported() -> None:
    with pytest.raises((RuntimeError, BufferError), match="require gradient"):
        torch.from_dlpack(torch.zeros(1, device="cuda", requires_grad=True))
    with pytest.raises((RuntimeError, BufferError), match="conjugate"):
        torch.from_dlpack(torch.zeros(1, device="cuda", dtype=torch.complex64).conj())


def test_there_is_no_cuda_array_interface() -> None:
    assert not hasattr(torch.zeros(1, device="cuda"), "__cuda_array_interface__")
    assert not hasattr(torch.zeros(1), "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="MUSA"):
        torch.zeros(1, device="cuda").__cuda_array_interface__  # noqa: B018


def test_capability_numpy_of_a_device_tensor_is_a_type_error() -> None:
    """Never a silent copy."""
    x = torch.zeros(2, device="cuda")
    for convert in (lambda: x.numpy(), lambda: np.asarray(x), lambda: x.__array__()):
        with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\) to copy the tensor to host memory first"):
            convert()
    assert x.cpu().numpy().tolist() == [0, 0] and x.numpy(force=True).tolist() == [0, 0]


def test_capability_pickling_and_deepcopy_of_device_tensors() -> None:
    for x in (torch.arange(3.0, device="cuda:1"), nn.Parameter(torch.ones(2, device="cuda:1"))):
        for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
            assert type(y) is type(x) and y.device == x.device
            assert y.tolist() == x.tolist() and y.data_ptr() != x.data_ptr()
    whole = torch.zeros(4, device="cuda")
    a, b = copy.deepcopy((whole, whole[1:]))
    b.fill_(5)
    assert a.tolist() == [0, 5, 5, 5]
    file = io.BytesIO()
    torch.save((whole, whole[1:]), file)
    file.seek(0)
    a, b = torch.load(file)
    b.fill_(2)
    assert a.tolist() == [0, 2, 2, 2] and a.is_cuda


def test_copies_between_devices() -> None:
    assert torch.cuda.can_device_access_peer(0, 1) and not torch.cuda.can_device_access_peer(0, 0)
    x = torch.arange(4.0, device="cuda:0")
    y = torch.empty(4, dtype=torch.float64, device="cuda:1")
    stream = torch.cuda.Stream(1)
    with torch.cuda.stream(stream):
        assert y.copy_(x, non_blocking=True) is y
    torch.cuda.current_stream(1).wait_stream(stream)
    assert y.tolist() == [0, 1, 2, 3]
    assert x.to("cuda:1", non_blocking=True).device == torch.device("cuda:1")
    with pytest.raises(RuntimeError, match="same device"):
        x + y
