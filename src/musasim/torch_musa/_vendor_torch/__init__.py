"""What Moore Threads' build of torch has and PyPI's torch lacks, as far as programs notice.

torch_musa is made for a torch with some fifty patches of its own. Everything that stands in for one of them is in
this package, so that the rest of torch_musa can be read as if the vendor's torch were there:

- `lazy_import`: C++ code initialises the backend through a module called torch.musa;
- `legacy_tensors`: torch.musa.FloatTensor and its kin;
- `parallel`: torch.nn.parallel on several devices;
- `sharing`: tensors of the device between processes;
- `collectives`: the question whether there is MCCL;
- `profiling`: the device among the profiler's activities;
- `compiler`: torch.compile, by way of `late_import`, when this package is complete;
- `convolution`: the memory format of its result (the real torch_musa's own doing);
- `exit`: the end of a program that has just used autograd.

MUSASIM_STOCK_TORCH=1 leaves `parallel` and `sharing` undone: what torch_musa would be on a torch without these patches.
"""

import os

from . import collectives, convolution, exit, lazy_import, legacy_tensors, parallel, profiling, sharing

__all__ = ["complete_torch", "legacy_tensors"]


def complete_torch() -> None:
    """Do what the patches do. Called before the rest of torch_musa is imported; calling it again changes nothing."""
    lazy_import.install()
    if os.environ.get("MUSASIM_STOCK_TORCH") != "1":
        parallel.install()
        sharing.install()
    collectives.install()
    profiling.install()
    convolution.install()
    exit.install()
