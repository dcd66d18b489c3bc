"""Scheduling: Inductor's C++ backend makes the kernels."""

from __future__ import annotations

from torch._inductor.codegen.cpp import CppScheduling


class MUSACppScheduling(CppScheduling):
    """CppScheduling for nodes on the device, whose memory the CPU's kernels can read."""
