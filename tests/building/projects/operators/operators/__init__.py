"""Operators for the CPU and for CUDA, registered with the dispatcher."""

from . import _C  # noqa: F401
