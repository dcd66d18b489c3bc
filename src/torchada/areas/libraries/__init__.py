"""Packages of third parties that use a device by the name of CUDA: one file for each library."""

AREAS = {
    "flash_attn_interface": ("flash_attention.interface",),
    "sgl_kernel": ("flash_attention.sgl_kernel",),
    "lightning.pytorch.accelerators.cuda": ("lightning.trainer_and_fabric",),
    "pytorch_lightning.accelerators.cuda": ("lightning.older_trainer",),
    "lightning_fabric.accelerators.cuda": ("lightning.older_fabric",),
    "ray.air._internal.device_manager": ("ray.loaders",),
    "ray.train.torch.config": ("ray.workers",),
    "pynvml": ("pynvml.package",),
    "vllm.third_party.pynvml": ("pynvml.of_vllm",),
    "triton": (
        "triton.driver",
        "triton.compiler",
        "triton.language",
        "triton_musa.f32_default",
        "triton_musa.inplace_alias",
    ),
    "sglang.srt.layers.moe.moe_runner.triton_utils.fused_moe_triton_config": ("tuned_tables.sglang",),
    "vllm.model_executor.layers.fused_moe.fused_moe": ("tuned_tables.vllm",),
    "sglang.kernels.jit.utils.compile.toolchain": ("sglang_jit",),
    "sglang.kernels.ops.attention.rope": ("sglang_rope",),
}
