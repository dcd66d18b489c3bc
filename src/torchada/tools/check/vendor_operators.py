"""Operators of PyTorch that torch_musa does not compute on the device, or refuses (docs/reference/limits.md)."""

from __future__ import annotations

import ast

from torchada.report.severity import NOTE
from torchada.tools.check.findings import OPERATOR, Finding

# Not registered in torch_musa 2.7.1. 2.9.1.post1 registers them all; no such list of 2.11.0 is public.
_ON_CPU = ("logcumsumexp", "linalg.matrix_exp", "matrix_exp", "segment_reduce", "nonzero_static", "_int_mm")
_POLYNOMIALS = ("chebyshev_polynomial_", "hermite_polynomial_", "laguerre_polynomial_", "legendre_polynomial_")
_OF_SPECIAL = tuple(
    f"torch.special.{name}" for name in (*_POLYNOMIALS, "shifted_chebyshev_polynomial_", "modified_bessel_")
)
_NAMES = frozenset(f"torch.{name}" for name in _ON_CPU)
_METHODS = frozenset({"logcumsumexp", "matrix_exp"})  # no other class has methods of these names
_HALVES = frozenset({"float16", "half", "bfloat16"})
# What a source needs for one of them, in small letters.
SIGNS = (*(name.rpartition(".")[2].encode() for name in _ON_CPU), b"torch.special", b"torch.fft")


_MESSAGES = {
    "2.7.1": "computed on the CPU, with copies there and back; no graph can capture that",
    "2.11.0": "on the device where torch_musa has it, as 2.9.1 has; else on the CPU, with copies there and back, as on 2.7.1",
}


def of_name(path: str, release: str) -> Finding | None:
    """What is to be said of an operator by its path, for a release of torch_musa."""
    if release not in _MESSAGES or (path not in _NAMES and not path.startswith(_OF_SPECIAL)):
        return None
    return Finding(OPERATOR, NOTE, path, _MESSAGES[release], "")


def of_method(name: str, release: str) -> Finding | None:
    """The same for a method of a tensor."""
    return of_name(f"torch.{name}", release) if name in _METHODS else None


def of_call(path: str, node: ast.Call) -> Finding | None:
    """What is to be said of a call whose arguments say the data type: torch_musa refuses Fourier transforms of halves."""
    if not path.startswith("torch.fft."):
        return None
    named = {
        part.attr
        for argument in [*node.args, *node.keywords]
        for part in ast.walk(argument)
        if isinstance(part, ast.Attribute)
    }
    if not named & _HALVES:
        return None
    return Finding(OPERATOR, NOTE, path, "computed in single precision, because torch_musa refuses halves", "")
