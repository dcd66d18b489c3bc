"""Rules by which DTensor splits the vendor's operators. Those of 2.7.1 are for operators that 2.9.1 no longer has."""

import torch.distributed.tensor  # noqa: F401  (first, because its end imports the rules)

from musasim.base import release as _release

__all__: list[str] = []

if not _release.since("2.9.1"):
    from ._ops import fused_rmsnorm_bwd_strategy, fused_rmsnorm_strategy

    __all__ += ["fused_rmsnorm_bwd_strategy", "fused_rmsnorm_strategy"]
