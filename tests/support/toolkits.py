"""A toolkit as a value, for tests that compile nothing."""

from __future__ import annotations

from typing import Any

from torchada.building.toolkit import Toolkit


def musa(home: str | None, **more: Any) -> Toolkit:
    return Toolkit(
        name="MUSA",
        home=home,
        home_variable="MUSA_HOME",
        compiler="mcc",
        compiler_variable="PYTORCH_MCC",
        language="musa",
        arch_flag="--offload-arch=mp_{}",
        arch_variable="TORCH_MUSA_ARCH_LIST",
        runtime="musart",
        **more,
    )
