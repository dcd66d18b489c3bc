"""What Moore Threads' build of torch has and PyPI's torch lacks, as far as programs notice.

torch_musa is made for a torch with some fifty patches of its own. All replacements for these patches are in this
package, so the rest of torch_musa reads as if the vendor's torch were installed:

- `lazy_import`: C++ code initialises the backend through a module called torch.musa;
- `legacy_tensors`: torch.musa.FloatTensor and similar types;
- `parallel`: torch.nn.parallel on several devices;
- `sharing`: tensors of the device between processes;
- `collectives`: the function that says whether MCCL is available;
- `profiling`: the device among the profiler's activities;
- `compiler`: torch.compile, through `late_import`, when this package is complete, and `traced_autocast`: autocast in it;
- `traced_queries`: questions about the device in it;
- `unified`: storages in unified memory that are moved between host and device, and `lazy_copies`: tensors;
- `convolution`: the memory format of a convolution's result (the real torch_musa itself does this);
- `flash`: fused attention by the name that programs for MUSA call;
- `gated`: the activations swish_glu and gated_silu;
- `rope`: rotary position embedding;
- `rms_norm`: operators of that name that PyTorch's own torch does not declare;
- `exit`: the end of a program that has just used autograd.

In C++ there are operators for quantized layers, and `x.data = y` between the device and the host (`native/ops`).

MUSASIM_STOCK_TORCH=1 leaves out `parallel`, `sharing`, `unified` and that assignment: torch_musa behaves as on a torch without
these patches.
"""

from musasim.base import settings

from . import (
    collectives,
    convolution,
    exit,
    flash,
    gated,
    lazy_copies,
    lazy_import,
    legacy_tensors,
    parallel,
    profiling,
    rms_norm,
    rope,
    sharing,
    unified,
)

__all__ = ["complete_torch", "legacy_tensors"]


def complete_torch() -> None:
    """Apply the replacements, before the rest of torch_musa is imported. A second call changes nothing."""
    lazy_import.install()
    if not settings.is_on("MUSASIM_STOCK_TORCH"):
        parallel.install()
        sharing.install()
        unified.install()
    collectives.install()
    profiling.install()
    convolution.install()
    flash.install()
    gated.install()
    rms_norm.install()
    rope.install()
    lazy_copies.install()
    exit.install()
