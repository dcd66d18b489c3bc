"""Headers that complete PyTorch 2.9's stable ABI for C++ by what came with 2.10. Later versions find PyTorch's own through them."""

from __future__ import annotations

from pathlib import Path

from torchada.building.toolkit import Toolkit

_HEADERS = Path(__file__).with_name("stable_compat")
_LANGUAGE = "musa"


def stable_include_dir() -> str:
    """The folder of these headers, to be searched before PyTorch's own."""
    return str(_HEADERS)


def stable_include_dirs(toolkit: Toolkit) -> list[str]:
    """The same for a build; empty for an accelerator that these headers are not for."""
    return [stable_include_dir()] if toolkit.language == _LANGUAGE else []


def stable_box_header() -> str:
    """The header in it that has TORCH_BOX, to be included before anything else."""
    return str(_HEADERS / "torchada_stable.h")
