"""Kernels of a library beside operators of PyTorch, on streams: `of` answers which programs give the numbers that they should."""

import ctypes
from typing import Any

import torch

KERNELS: Any = None
side, x = torch.cuda.Stream(), torch.arange(1.0, 65, device="cuda")
torch.cuda.synchronize()


def copied(source: torch.Tensor, stream: torch.cuda.Stream) -> torch.Tensor:
    """A copy that the library's kernel makes on the stream, in memory that nobody else has."""
    result = torch.zeros(64, device="cuda")
    torch.cuda.synchronize()
    copy(source, result, stream)
    return result


def copy(source: torch.Tensor, result: torch.Tensor, stream: torch.cuda.Stream) -> None:
    KERNELS.copy_on(*(ctypes.c_void_p(each) for each in (source.data_ptr(), result.data_ptr(), stream.cuda_stream)))


def an_operator(wait: bool) -> torch.Tensor:
    y = copied(x, side)
    if wait:
        torch.cuda.current_stream().wait_stream(side)
    return y * 2 / 2


def the_host(wait: bool) -> torch.Tensor:
    y = copied(x, side)
    if wait:
        side.record_event().synchronize()
    return y.cpu()


def one_number(wait: bool) -> torch.Tensor:
    y = copied(x, side)
    while wait and not side.query():
        pass
    return torch.arange(0.0, 64) + y[0].item()


def memory_that_is_used_again(wait: bool) -> torch.Tensor:
    source, result = x.clone(), torch.zeros(64, device="cuda")
    torch.cuda.synchronize()
    copy(source, result, side)
    if wait:
        source.record_stream(side)
    del source
    taken = [x * 3 for _ in range(16)]  # one of them has its memory, unless that is recorded
    side.synchronize()
    del taken
    return result


def memory_that_is_given_back(wait: bool) -> torch.Tensor:
    source, result = torch.arange(1.0, 65, device="cuda").clone(), torch.zeros(64, device="cuda")
    torch.cuda.synchronize()
    copy(source, result, side)
    del source
    torch.cuda.empty_cache()
    side.synchronize()
    return result


def a_graph(wait: bool) -> torch.Tensor:
    y, graph = torch.zeros(64, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        copy(x, y, torch.cuda.current_stream())
        z = y + 0
    graph.replay()
    return z


def a_profile(wait: bool) -> torch.Tensor:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        y = copied(x, side)
        torch.cuda.synchronize()
    assert any(event.name == "copy" for event in prof.events())
    return y


ALWAYS_RIGHT = (memory_that_is_given_back, a_graph, a_profile)
PLANTED = (an_operator, the_host, one_number, memory_that_is_used_again)


def of(library: str, wait: bool) -> dict[str, bool]:
    global KERNELS
    KERNELS = ctypes.CDLL(library)
    programs = PLANTED + ALWAYS_RIGHT
    return {each.__name__: torch.equal(each(wait).cpu(), torch.arange(1.0, 65)) for each in programs}
