"""ProcessGroupNCCL.Options().config, by which programs tune NCCL's communicators: set, read back, and otherwise without effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

# ncclConfig_t, and what NCCL has where nothing is said.
_UNDEFINED = -(2**31)
_FIELDS = (
    "blocking",
    "cga_cluster_size",
    "min_ctas",
    "max_ctas",
    "split_share",
    "traffic_class",
    "cta_policy",
    "shrink_share",
    "collnet_enable",
    "nvls_ctas",
    "n_channels_per_net_peer",
    "nvlink_centric_sched",
)


class NCCLConfig:
    """NCCL's preferences for one communicator, which the backend's library has none of."""

    __slots__ = (*_FIELDS, "net_name", "comm_name")

    def __init__(self) -> None:
        for name in _FIELDS:
            setattr(self, name, _UNDEFINED)
        self.net_name = self.comm_name = None


def patches(context: Context) -> Iterator[Patch]:
    group = getattr(
        context.torch.distributed, f"ProcessGroup{context.backend.collectives.get('nccl', '').upper()}", None
    )
    if group is None or hasattr(group.Options, "config"):
        raise Skip(f"{context.backend.adapter} has its own answer")
    api, to = "torch.distributed.ProcessGroupNCCL.Options.config", "nothing: preferences are remembered"
    yield Patch(group.Options, "config", _config(), api, kind="emulated", to=to)
    yield Patch(
        group, "NCCLConfig", NCCLConfig, "torch.distributed.ProcessGroupNCCL.NCCLConfig", kind="emulated", to=to
    )
    for number, name in enumerate(("DEFAULT", "EFFICIENCY", "ZERO")):
        why = f"torch.distributed.ProcessGroupNCCL.NCCL_CTA_POLICY_{name}"
        yield Patch(group, f"NCCL_CTA_POLICY_{name}", number, why, kind="emulated", to=to)


def _config() -> property:
    configs: WeakKeyDictionary[Any, NCCLConfig] = WeakKeyDictionary()

    def get(self: Any) -> NCCLConfig:
        return configs.setdefault(self, NCCLConfig())

    def put(self: Any, config: NCCLConfig) -> None:
        configs[self] = config

    return property(get, put, doc="Preferences for NCCL's communicators; without effect here.")
