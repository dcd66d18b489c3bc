"""How busy the device was in a profile: torch's own computation, with this device's launches and kernels."""

from __future__ import annotations

from typing import Any

from torch.profiler import _utils as torchs

from .._vendor_torch.rewriting import rewritten

EventKey = torchs.EventKey
EventMetrics = torchs.EventMetrics
Interval = torchs.Interval

_torchs: Any = torchs.BasicEvaluation
_NAMES = {"CUDA": "PrivateUse1", "cuda_events": "musa_events"}
#: Newer releases of torch know several ways to launch a kernel.
_LAUNCHES = (
    *("cudaLaunchKernel", "cudaLaunchKernelExC", "__cudaLaunchKernel"),
    *("cudaLaunchCooperativeKernel", "cudaLaunchCooperativeKernelMultiDevice"),
)
_ON_MUSA = {launch: launch.replace("cuda", "musa") for launch in _LAUNCHES}


class BasicEvaluation(_torchs):  # type: ignore[misc]
    """Its `musa_events` are the launches and kernels, where torch's has `cuda_events`."""

    __init__ = rewritten(_torchs.__init__, _NAMES)
    compute_queue_depth = rewritten(_torchs.compute_queue_depth, _NAMES, _ON_MUSA)


vars(torchs)["BasicEvaluation"] = BasicEvaluation
