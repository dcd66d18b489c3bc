"""A simulated MUSA toolkit: mcc, musaInfo, headers and libmusart, in a folder like /usr/local/musa. It needs no torch.

Kernels are compiled for this machine's processor with its C++ compiler and run in libmusart.so. See README.md.
"""

from __future__ import annotations

from musasim.toolkit.home import home

__all__ = ["home"]
