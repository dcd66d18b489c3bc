"""A simulated Moore Threads stack: torch_musa's API on a real PyTorch device that the CPU computes.

``install()`` lets ``import torch_musa`` find the simulation where no real torch_musa is installed. Nothing in this package
imports torch before that.

PYTEST_DONT_REWRITE: pytest would warn in every run that this module was imported before it.
"""

from __future__ import annotations

from musasim.finder import install, uninstall

__all__ = ["install", "uninstall"]
