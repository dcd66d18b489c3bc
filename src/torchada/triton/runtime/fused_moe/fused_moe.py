"""The fused mixture-of-experts layer of torchada 0.1."""

from torchada.compat.legacy import absent

raise absent("torchada.triton.runtime.fused_moe.fused_moe", "use SGLang's or vLLM's own fused_experts")
