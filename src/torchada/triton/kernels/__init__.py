"""The Triton kernels of torchada 0.1."""

from torchada.compat.legacy import absent

raise absent(
    "torchada.triton.kernels",
    "use SGLang's or vLLM's own fused_moe and quantization kernels, which Triton compiles here",
)
