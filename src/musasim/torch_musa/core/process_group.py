"""Registers the process group `mccl` with torch.distributed. In the real package the native part does this."""

from __future__ import annotations

import atexit
import ctypes
import time
import uuid
from datetime import timedelta
from typing import Any

import torch

from musasim.base import release

from .. import _MUSAC
from . import flight_recorder
from ._interfaces import on_the_interface_asked_for

# Names of the group that releases before 2.9.1 do not have.
_SINCE_2_9_1 = (
    "MCCLConfig",
    "MCCL_CTA_POLICY_DEFAULT",
    "MCCL_CTA_POLICY_EFFICIENCY",
    "MCCL_CTA_POLICY_ZERO",
    "_comm_ptr",
    "_end_time_estimate",
    "_set_enable_nan_check",
    "_start_time_estimate",
    "deregister_mem_pool",
    "register_mem_pool",
)


#: What the ranks of each group call it, and its communicator of libmccl, by the group's number in this process.
_names: dict[int, str] = {}
_communicators: dict[int, int] = {}


def _create(store: Any, rank: int, world_size: int, timeout: timedelta) -> Any:
    """Create this process's part of the group, for `init_process_group("mccl")` and `new_group`."""
    return _MUSAC.ProcessGroupMCCL(store, rank, world_size, timeout)


def _create_extended(dist_opts: Any, backend_opts: Any = None) -> Any:
    """The same as releases from 2.9.1 on register it. Options of the program count, except for the timeout, which torch gives."""
    options = _MUSAC.ProcessGroupMCCL.Options() if backend_opts is None else backend_opts
    options._timeout = dist_opts.timeout
    return _MUSAC.ProcessGroupMCCL(dist_opts.store, dist_opts.group_rank, dist_opts.group_size, options)


def _meeting_first(connect: Any, check_environment: Any) -> Any:
    """Wrap the process group's constructor `connect`, so that ranks agree on a fresh part of a store that others have used.

    A rank whose variables are wrong does not come: it raises, and may be done with the store while others wait there.
    """

    def __init__(self: Any, store: Any, rank: int, size: int, *args: Any, **kwargs: Any) -> None:
        check_environment()
        name, meeting = _meet(store, rank, size) if size > 1 else (uuid.uuid4().hex, store)
        with on_the_interface_asked_for():
            connect(self, meeting, rank, size, *args, **kwargs)
        _names[self.uid] = name

    __init__.__doc__ = connect.__doc__
    return __init__


def _known_to_the_library(connected: Any) -> Any:
    """Wrap the group's `_comm_ptr`: libmccl has to know the communicator, which it connects when a program uses it."""

    def _comm_ptr(self: Any) -> int:
        own = int(connected(self))
        if not own or self.uid not in _names:  # before its first operation, or made by C++ of another group
            return own
        if self.uid not in _communicators:
            made = ctypes.c_void_p()
            library = ctypes.CDLL("libmccl.so.2")
            name = _names[self.uid].encode()
            if library.musasim_mccl_communicator(ctypes.byref(made), self.size(), self.rank(), name) != 0:
                raise RuntimeError("libmccl has made no communicator; it has said why")
            _communicators[self.uid] = made.value or 0
        return _communicators[self.uid]

    _comm_ptr.__doc__ = connected.__doc__
    return _comm_ptr


def _meet(store: Any, rank: int, size: int) -> tuple[str, Any]:
    """Return the name of a meeting, and a part of `store` that only the present ranks use.

    torchrun keeps the store when it restarts workers, and gloo would connect to the addresses that the previous workers left there.

    Rank 0 announces a meeting with a new name, each other rank joins the newest one, and rank 0 writes the list of those that
    joined. A meeting whose list lacks this rank belongs to previous workers. Raises DistStoreError if not all ranks arrive
    within the store's timeout.
    """
    distributed: Any = torch.distributed
    mine = uuid.uuid4().hex
    if rank == 0:
        store.set("meeting", mine)
        present = [store.get(f"{mine}/{other}").decode() for other in range(1, size)]
        store.set(f"{mine}/present", " ".join(present))
        return mine, distributed.PrefixStore(mine, store)
    deadline = time.monotonic() + store.timeout.total_seconds()
    joined = ""
    while time.monotonic() < deadline:
        meeting = store.get("meeting").decode()
        if meeting != joined:
            store.set(f"{meeting}/{rank}", mine)
            joined = meeting
        if store.check([f"{meeting}/present"]) and mine in store.get(f"{meeting}/present").decode():
            return meeting, distributed.PrefixStore(meeting, store)
        time.sleep(0.005)
    raise distributed.DistStoreError(f"rank {rank}: the other ranks did not arrive within {store.timeout}")


def _wait_for_collectives(wait_for_all: Any) -> None:
    """Before the interpreter shuts down: a collective that ends later releases its tensors without the lock, which aborts.

    A rank that the others have left waits for a second.
    """
    wait_for_all(timedelta(seconds=1))


def _become_the_release(group: Any) -> None:
    is_newer = release.chosen() >= (2, 9, 1)
    group._as_since_2_9_1(is_newer)
    group._pickle_flights_by(flight_recorder.publish(group._flights, group._forget_flights))
    _remove(group, "_as_since_2_9_1", "_flights", "_forget_flights", "_pickle_flights_by")
    group._comm_ptr = _known_to_the_library(group._comm_ptr)
    if not is_newer:
        _remove(group, *_SINCE_2_9_1)
        _remove(group.Options, "config", "__copy__", "__deepcopy__")


def _remove(kind: type, *names: str) -> None:
    for name in names:
        delattr(kind, name)


def register_process_group() -> None:
    """Register the process group as "mccl", the default for the device's tensors."""
    if not torch.distributed.is_available():
        return
    distributed: Any = torch.distributed
    group = _MUSAC.ProcessGroupMCCL
    if hasattr(group, "_check_environment"):  # not when the package is loaded again
        group.__init__ = _meeting_first(group.__init__, group._check_environment)
        atexit.register(_wait_for_collectives, group._wait_for_all)
        _remove(group, "_check_environment", "_wait_for_all")
        _become_the_release(group)
    group.__module__ = "torch.distributed.distributed_c10d"
    distributed.ProcessGroupMCCL = distributed.distributed_c10d.ProcessGroupMCCL = group
    # The vendor's torch accepts "musa" here, but PyPI's would iterate over the letters of the string.
    if release.chosen() >= (2, 9, 1):
        distributed.Backend.register_backend("mccl", _create_extended, extended_api=True, devices=["musa"])
    else:
        distributed.Backend.register_backend("mccl", _create, devices=["musa"])
