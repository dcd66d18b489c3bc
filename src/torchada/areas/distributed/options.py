"""ProcessGroupNCCL.Options().config, with which programs tune NCCL's communicators: it can be set and read, and has no effect."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_UNDEFINED = -(2**31)


class NCCLConfig:
    """ncclConfig_t: NCCL's preferences for a communicator. The backend has none; a misspelt name is an error nevertheless."""

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

    def __setattr__(self, name: str, value: object) -> None:
        if name not in NCCLConfig.__annotations__:
            raise AttributeError(f"'NCCLConfig' object has no attribute {name!r}")
        object.__setattr__(self, name, value)


def patches(context: Context) -> Iterator[Patch]:
    group = context.backend.collectives.process_group(context.torch.distributed, "nccl")
    if group is None or hasattr(group.Options, "config"):
        raise Skip(f"{context.backend.adapter} has such options of its own, or no process group for NCCL")
    api, to = "torch.distributed.ProcessGroupNCCL.Options.config", "nothing: preferences are remembered"
    yield Patch(group.Options, "config", _config(), api, kind="emulated", to=to)
    yield Patch(
        group, "NCCLConfig", NCCLConfig, "torch.distributed.ProcessGroupNCCL.NCCLConfig", kind="emulated", to=to
    )
    for number, name in enumerate(("DEFAULT", "EFFICIENCY", "ZERO")):
        api = f"torch.distributed.ProcessGroupNCCL.NCCL_CTA_POLICY_{name}"
        yield Patch(group, f"NCCL_CTA_POLICY_{name}", number, api, kind="emulated", to=to)


def _config() -> property:
    configs: WeakKeyDictionary[object, NCCLConfig] = WeakKeyDictionary()

    def get(self: object) -> NCCLConfig:
        return configs.setdefault(self, NCCLConfig())

    def put(self: object, config: NCCLConfig) -> None:
        configs[self] = config

    return property(get, put, doc="Preferences for NCCL's communicators; without effect here.")
