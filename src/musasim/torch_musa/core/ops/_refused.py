"""Operators that torch_musa 2.7.1 registers only to say what programs should use instead."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

_LIBRARY = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]


def _refuse(optimizer: str) -> Any:
    def kernel(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"torch.optim.{optimizer}(fused=True) is not supported, try torch_musa.optim.Fused{optimizer} instead"
        )

    return kernel


for _name, _optimizer in {"_fused_adam_": "Adam", "_fused_adamw_": "AdamW"}.items():
    for _overload in ("", ".tensor_lr"):
        _LIBRARY.impl(_name + _overload, _refuse(_optimizer), "PrivateUse1")  # type: ignore[no-untyped-call]
