"""Which backend the installed Triton has, by the module that says so in torchada 0.1 after 0.1.103.

Its repairs of MUSA Triton 3.6 and the variables that choose among them (TORCHADA_TRITON_INPLACE_ALIAS, _FAST_EXP, _F32_DEFAULT) are
not part of this release.
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
