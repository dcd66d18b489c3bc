"""Which backend the installed Triton has, by the module that says so in torchada 0.1 after 0.1.103.

What it changes in Triton, by TORCHADA_TRITON_INPLACE_ALIAS and TORCHADA_TRITON_F32_DEFAULT, areas do here.
"""

from __future__ import annotations

__all__ = ["triton_backend_is_musa"]

_NAMES = ("musa", "mtgpu")


def triton_backend_is_musa() -> bool:
    """Whether Triton compiles for a MUSA device. False where there is no Triton."""
    try:
        from triton.backends import backends
    except Exception:  # none, or one that is broken
        return False
    return any(name in backends for name in _NAMES)
