"""Rules by which DTensor splits the vendor's operators."""

import torch.distributed.tensor  # noqa: F401  (first, because its end imports the rules)

from ._ops import fused_rmsnorm_bwd_strategy, fused_rmsnorm_strategy

__all__ = ["fused_rmsnorm_bwd_strategy", "fused_rmsnorm_strategy"]
