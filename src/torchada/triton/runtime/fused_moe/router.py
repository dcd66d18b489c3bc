"""The router of torchada 0.1's fused mixture-of-experts layer."""

from torchada.compat.legacy import absent

raise absent("torchada.triton.runtime.fused_moe.router", "use SGLang's sglang.srt.layers.moe.topk or vLLM's fused_topk")
