"""NCCL without a process group of its own, as inference servers use it beside CUDA graphs: ctypes on libnccl.so.2, which two ranks
run. The identifier travels over gloo. Each rank prints the names of the operations whose results are right."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p

import torch
import torch.distributed as dist

FLOAT, SUM = 7, 0
BUFFER, NUMBER, COMM, STREAM = c_void_p, c_int, c_void_p, c_void_p


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


SIGNATURES = {
    "ncclGetErrorString": [c_int],
    "ncclGetVersion": [POINTER(c_int)],
    "ncclGetUniqueId": [POINTER(UniqueId)],
    "ncclCommInitRank": [POINTER(COMM), c_int, UniqueId, c_int],
    "ncclAllReduce": [BUFFER, BUFFER, c_size_t, NUMBER, c_int, COMM, STREAM],
    "ncclReduce": [BUFFER, BUFFER, c_size_t, NUMBER, c_int, c_int, COMM, STREAM],
    "ncclReduceScatter": [BUFFER, BUFFER, c_size_t, NUMBER, c_int, COMM, STREAM],
    "ncclAllGather": [BUFFER, BUFFER, c_size_t, NUMBER, COMM, STREAM],
    "ncclBroadcast": [BUFFER, BUFFER, c_size_t, NUMBER, c_int, COMM, STREAM],
    "ncclSend": [BUFFER, c_size_t, NUMBER, c_int, COMM, STREAM],
    "ncclRecv": [BUFFER, c_size_t, NUMBER, c_int, COMM, STREAM],
    "ncclGroupStart": [],
    "ncclGroupEnd": [],
    "ncclCommDestroy": [COMM],
    "ncclCommWindowRegister": [COMM, BUFFER, c_size_t, POINTER(c_void_p), c_int],
    "ncclCommWindowDeregister": [COMM, c_void_p],
}
library = ctypes.CDLL("libnccl.so.2")
for name, arguments in SIGNATURES.items():
    getattr(library, name).argtypes = arguments
    getattr(library, name).restype = c_char_p if name == "ncclGetErrorString" else c_int


def nccl(name: str, *arguments: object) -> None:
    given = [argument.data_ptr() if isinstance(argument, torch.Tensor) else argument for argument in arguments]
    result = getattr(library, f"nccl{name}")(*given)
    if result != 0:
        raise RuntimeError(f"NCCL error: {library.ncclGetErrorString(result).decode()}")


def stream() -> int:
    return torch.cuda.current_stream().cuda_stream


def results(rank: int, other: int, comm: c_void_p) -> Iterator[tuple[str, torch.Tensor, list[float]]]:
    """The name of each operation, what it has computed and what is right."""
    x = torch.full((4,), rank + 1.0, device="cuda")
    out, twice = torch.zeros(4, device="cuda"), torch.zeros(8, device="cuda")
    nccl("AllReduce", x, out, 4, FLOAT, SUM, comm, stream())
    yield "all-reduce", out, [3.0] * 4
    nccl("Reduce", x, out, 4, FLOAT, SUM, 1, comm, stream())
    yield "reduce", out, [3.0] * 4
    nccl("AllGather", x, twice, 4, FLOAT, comm, stream())
    yield "all-gather", twice, [1.0] * 4 + [2.0] * 4
    nccl("ReduceScatter", twice, out, 4, FLOAT, SUM, comm, stream())
    yield "reduce-scatter", out, [2.0 * rank + 2] * 4
    nccl("Broadcast", x, out, 4, FLOAT, 1, comm, stream())
    yield "broadcast", out, [2.0] * 4
    nccl("GroupStart")
    nccl("Send", x, 4, FLOAT, other, comm, stream())
    nccl("Recv", out, 4, FLOAT, other, comm, stream())
    nccl("GroupEnd")
    yield "send and receive", out, [other + 1.0] * 4
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inner = x * 10
        nccl("AllReduce", inner, inner, 4, FLOAT, SUM, comm, stream())
        out = inner + 1
    x += 1
    graph.replay()
    yield "in a graph", out, [51.0] * 4


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    version, unique_id, comm, window = c_int(), UniqueId(), c_void_p(), c_void_p()
    nccl("GetVersion", byref(version))
    if rank == 0:
        nccl("GetUniqueId", byref(unique_id))
    sent = torch.tensor(list(unique_id.internal), dtype=torch.int8)
    dist.broadcast(sent, 0)
    unique_id.internal[:] = sent.tolist()
    nccl("CommInitRank", byref(comm), 2, unique_id, rank)
    right = [name for name, found, wanted in results(rank, 1 - rank, comm) if found.tolist() == wanted]
    memory = torch.zeros(1024, device="cuda")
    nccl("CommWindowRegister", comm, memory, 4096, byref(window), 1)
    nccl("CommWindowDeregister", comm, window)
    try:
        nccl("AllReduce", memory, memory, 4, 99, SUM, comm, stream())
    except RuntimeError as error:
        right.append(str(error))
    nccl("CommDestroy", comm)
    # Text and end of the line in one piece: the other rank writes to the same pipe.
    print(f"rank {rank}, version {version.value}: {', '.join(right)}\n", end="", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
