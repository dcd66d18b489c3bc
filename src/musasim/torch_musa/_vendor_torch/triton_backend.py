"""Triton: Moore Threads ship one with a backend for their GPUs, and here PyPI's gets one that interprets (`musasim.triton`)."""

from __future__ import annotations

from musasim.triton import register

from .late_import import after_import


def install() -> None:
    after_import("triton.backends", register)
