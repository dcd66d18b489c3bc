"""The tuner of torchada 0.1, which measured kernels of its own on the chip."""

from torchada.compat.legacy import absent

raise absent(
    "torchada.triton.autotune.fused_moe.tune_moe",
    "use SGLang's benchmark/kernels/fused_moe_triton/tuning_fused_moe_triton.py or vLLM's benchmarks/kernels/benchmark_moe.py, "
    "which tune their own kernels and run on this device",
)
