"""Scheduling: Inductor's Triton backend makes the kernels, as it does for the vendor."""

from __future__ import annotations

from torch._inductor.codegen.triton import TritonScheduling


class MUSATritonScheduling(TritonScheduling):
    """TritonScheduling for nodes on the device."""
