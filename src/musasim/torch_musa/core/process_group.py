"""The process group `mccl`, made known to torch.distributed. In the real package its native part does this."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta
from typing import Any

import torch

from .. import _MUSAC


def _create(store: Any, rank: int, world_size: int, timeout: timedelta) -> Any:
    """What `init_process_group("mccl")` and `new_group` make for this process."""
    return _MUSAC.ProcessGroupMCCL(store, rank, world_size, timeout)


def _meeting_first(connect: Any) -> Any:
    """The constructor `connect` of the process group, for ranks that have found each other in a store that others used before."""

    def __init__(self: Any, store: Any, rank: int, size: int, *args: Any, **kwargs: Any) -> None:
        connect(self, _meet(store, rank, size) if size > 1 else store, rank, size, *args, **kwargs)

    __init__.__doc__ = connect.__doc__
    return __init__


def _meet(store: Any, rank: int, size: int) -> Any:
    """The part of `store` for those who meet now. torchrun keeps the store when it starts workers again, and gloo would connect
    with the addresses that the ended ones have left there.

    Rank 0 names the meeting, everybody else comes to the newest there is, and rank 0 writes down who has come: a meeting whose
    list has not got us was held before our time. Raises DistStoreError where not all come within the store's timeout.
    """
    distributed: Any = torch.distributed
    mine = uuid.uuid4().hex
    if rank == 0:
        store.set("meeting", mine)
        present = [store.get(f"{mine}/{other}").decode() for other in range(1, size)]
        store.set(f"{mine}/present", " ".join(present))
        return distributed.PrefixStore(mine, store)
    deadline = time.monotonic() + store.timeout.total_seconds()
    joined = ""
    while time.monotonic() < deadline:
        meeting = store.get("meeting").decode()
        if meeting != joined:
            store.set(f"{meeting}/{rank}", mine)
            joined = meeting
        if store.check([f"{meeting}/present"]) and mine in store.get(f"{meeting}/present").decode():
            return distributed.PrefixStore(meeting, store)
        time.sleep(0.005)
    raise distributed.DistStoreError(f"rank {rank}: the others have not come within {store.timeout}")


def register_process_group() -> None:
    """Let "mccl" name the process group, and be the default for tensors of the device."""
    if not torch.distributed.is_available():
        return
    distributed: Any = torch.distributed
    group = _MUSAC.ProcessGroupMCCL
    group.__init__ = _meeting_first(group.__init__)
    group.__module__ = "torch.distributed.distributed_c10d"
    distributed.ProcessGroupMCCL = distributed.distributed_c10d.ProcessGroupMCCL = group
    # The vendor's torch takes "musa"; PyPI's looks at a string letter by letter.
    distributed.Backend.register_backend("mccl", _create, devices=["musa"])
