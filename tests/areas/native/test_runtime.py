"""torch.cuda.cudart() and the runtime's errors."""

from __future__ import annotations

import ctypes
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
import torch.cuda.profiler

from support.interpreter import Interpreter
from torchada.areas.native import runtime as area
from torchada.backends.musa import MUSA
from torchada.redirect.unsupported import UnsupportedError

pytestmark = pytest.mark.once


def test_the_functions_of_torchs_binding_are_all_there() -> None:
    runtime = torch.cuda.cudart()
    assert isinstance(runtime, ModuleType) and runtime is torch.cuda.cudart()
    names = {"cudaGetErrorString", "cudaHostRegister", "cudaHostUnregister", "cudaMemGetInfo", "cudaStreamCreate"}
    names |= {"cudaStreamDestroy", "cudaProfilerStart", "cudaProfilerStop", "cudaError", "cudaOutputMode"}
    assert names <= set(dir(runtime))
    assert not hasattr(runtime, "cudaMalloc")  # as in torch's


def test_functions_of_cudart_are_the_backends_own() -> None:
    runtime, own = torch.cuda.cudart(), torch.musa.musart()
    assert runtime.cudaMemGetInfo is own.musaMemGetInfo and runtime.cudaError is own.musaError
    assert runtime.cudaMemGetInfo(0) == torch.cuda.mem_get_info(0)
    assert runtime.cudaGetErrorString(runtime.cudaError.success) == "no error"


def test_registering_host_memory() -> None:
    runtime, host = torch.cuda.cudart(), torch.zeros(4096, dtype=torch.uint8)
    result = runtime.cudaHostRegister(host.data_ptr(), host.numel(), 0)
    torch.cuda.check_error(result)
    assert result == runtime.cudaError.success and int(result) == 0
    assert host.is_pinned()
    assert int(runtime.cudaHostUnregister(host.data_ptr())) == 0 and not host.is_pinned()
    with pytest.raises(torch.cuda.CudaError, match="registered memory region"):
        torch.cuda.check_error(runtime.cudaHostUnregister(host.data_ptr()))


def test_memory_that_is_registered_first_of_all_is_pinned(musa: Interpreter) -> None:
    code = """
        import torch
        torch.set_default_device("cuda")
        host, runtime = torch.zeros(4096, dtype=torch.uint8, device="cpu"), torch.cuda.cudart()
        assert not host.is_pinned()
        torch.cuda.check_error(runtime.cudaHostRegister(host.data_ptr(), host.numel(), 0))
        assert host.is_pinned() and host[1:].is_pinned() and host.untyped_storage().is_pinned()
        torch.cuda.check_error(runtime.cudaHostUnregister(host.data_ptr()))
        assert not host.is_pinned()
    """
    musa.run(code, forked=True)


def test_a_stream() -> None:
    handle = ctypes.c_void_p()
    torch.cuda.check_error(torch.cuda.cudart().cudaStreamCreate(ctypes.addressof(handle)))
    with torch.cuda.stream(torch.cuda.ExternalStream(handle.value)):
        assert (torch.ones(2, device="cuda") + 1).sum().item() == 4
    torch.cuda.check_error(torch.cuda.cudart().cudaStreamDestroy(handle.value))


def test_profiler_calls_succeed() -> None:
    runtime = torch.cuda.cudart()
    assert runtime.cudaProfilerStart() == runtime.cudaError.success == runtime.cudaProfilerStop()
    assert runtime.cudaProfilerInitialize("config", "output", runtime.cudaOutputMode.CSV) == runtime.cudaError.success
    with torch.cuda.profiler.profile():
        torch.ones(2, device="cuda").sum()
    torch.cuda.profiler.start()
    torch.cuda.profiler.stop()


def test_check_error_and_cuda_error() -> None:
    torch.cuda.check_error(0)
    assert torch.cuda.CudaError is torch.musa.MusaError and issubclass(torch.cuda.CudaError, RuntimeError)
    with pytest.raises(torch.cuda.CudaError, match=r"^out of memory \(2\)$"):
        torch.cuda.check_error(2)
    with pytest.raises(torch.musa.MusaError):
        raise torch.cuda.CudaError(1)


def test_cuda_status() -> None:
    assert isinstance(torch.cuda.cudaStatus, type)
    assert (torch.cuda.cudaStatus.SUCCESS, torch.cuda.cudaStatus.ERROR_NOT_READY) == (0, 34)


def test_a_failing_deferred_call(musa: Interpreter) -> None:
    musa.run(
        """
        import pytest, torch
        from torch.cuda import DeferredCudaCallError
        def fail(): raise ValueError("no")
        torch.cuda._lazy_call(fail)
        with pytest.raises(DeferredCudaCallError, match="no"):
            torch.zeros(1, device="cuda")
        """,
        forked=True,
    )


def test_asking_for_the_runtime_takes_the_device(musa: Interpreter) -> None:
    musa.run(
        """
        import torch
        assert not torch.cuda.is_initialized()
        torch.cuda.cudart()
        assert torch.cuda.is_initialized()
        """,
        forked=True,
    )


def test_a_function_that_the_backend_lacks_is_a_clear_error() -> None:
    """A runtime binding with an error type and nothing else."""
    runtime: Any = ModuleType("bare")
    runtime.musaError = SimpleNamespace(success=0)
    context: Any = SimpleNamespace(backend=MUSA)
    bare = area._binding(context, runtime)
    assert bare.cudaProfilerStop() == 0
    with pytest.raises(UnsupportedError, match=r"torch\.cuda\.cudart\(\)\.cudaHostRegister has no counterpart on MUSA"):
        bare.cudaHostRegister(1, 2, 3)


def test_undo_leaves_torchs_own(musa: Interpreter) -> None:
    names = ("cudart", "check_error", "CudaError", "DeferredCudaCallError")
    musa.run(
        f"""
        import torch, torchada
        torchada.disable()
        for name in {names!r}:
            assert getattr(torch.cuda, name).__module__ == "torch.cuda", name
        assert torch.cuda.profiler.cudart is torch.cuda.cudart
        assert torch.cuda.profiler.check_error is torch.cuda.check_error
        """,
        forked=True,
    )
