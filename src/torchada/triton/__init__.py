"""What torchada 0.1 had for Triton's fused mixture-of-experts kernels, as far as it has a meaning without them.

The files of tuned tables can be named, read, merged and written (`torchada.triton.autotune.fused_moe.utils`), and the
configuration in force can be overridden (`torchada.triton.runtime.fused_moe.config`). The kernels, the tuner and the tables
themselves were made for one chip and are not part of this release: importing them raises an ImportError that says what to use.
"""
