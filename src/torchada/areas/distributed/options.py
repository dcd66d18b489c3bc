"""ProcessGroupNCCL.Options().config, with which programs tune NCCL's communicators: it can be set and read.

What the backend's library has preferences for as well, it is told; the rest has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_UNDEFINED = -(2**31)


class NCCLConfig:
    """ncclConfig_t: NCCL's preferences for a communicator. A misspelt name is an error, whatever the backend knows of it."""

    blocking: int = _UNDEFINED
    cga_cluster_size: int = _UNDEFINED
    min_ctas: int = _UNDEFINED
    max_ctas: int = _UNDEFINED
    split_share: int = _UNDEFINED
    traffic_class: int = _UNDEFINED
    cta_policy: int = _UNDEFINED
    shrink_share: int = _UNDEFINED
    collnet_enable: int = _UNDEFINED
    nvls_ctas: int = _UNDEFINED
    n_channels_per_net_peer: int = _UNDEFINED
    nvlink_centric_sched: int = _UNDEFINED
    net_name: str | None = None
    comm_name: str | None = None

    def __init__(self, backend: object = None) -> None:
        """`backend` is the configuration of the backend's own library, if it has one."""
        object.__setattr__(self, "_backend", backend)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in NCCLConfig.__annotations__:
            raise AttributeError(f"'NCCLConfig' object has no attribute {name!r}")
        backend: object = vars(self)["_backend"]
        for config in (self, backend) if hasattr(backend, name) else (self,):
            object.__setattr__(config, name, value)


def patches(context: Context) -> Iterator[Patch]:
    group = context.backend.collectives.process_group(context.torch.distributed, "nccl")
    if group is None:
        raise Skip(f"{context.backend.adapter} has no process group for NCCL")
    api, to = "torch.distributed.ProcessGroupNCCL.Options.config", "preferences that are remembered"
    config = _config(getattr(group.Options, "config", None))
    yield Patch(group.Options, "config", config, api, kind="emulated", to=to)
    yield Patch(
        group, "NCCLConfig", NCCLConfig, "torch.distributed.ProcessGroupNCCL.NCCLConfig", kind="emulated", to=to
    )
    for number, name in enumerate(("DEFAULT", "EFFICIENCY", "ZERO")):
        api = f"torch.distributed.ProcessGroupNCCL.NCCL_CTA_POLICY_{name}"
        yield Patch(group, f"NCCL_CTA_POLICY_{name}", number, api, kind="emulated", to=to)


def _config(own: Any) -> property:
    """`own` is the property that the backend's options have, or None."""
    configs: WeakKeyDictionary[object, NCCLConfig] = WeakKeyDictionary()

    def get(self: object) -> NCCLConfig:
        if self not in configs:
            configs[self] = NCCLConfig(own and own.__get__(self))
        return configs[self]

    def put(self: object, config: NCCLConfig) -> None:
        mine = get(self)
        for name in NCCLConfig.__annotations__:
            NCCLConfig.__setattr__(mine, name, getattr(config, name))

    return property(get, put, doc="Preferences for NCCL's communicators.")
