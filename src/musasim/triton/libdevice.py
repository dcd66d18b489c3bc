"""Functions of libdevice, by the name of their symbol. The interpreter has none of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

__all__ = ["function"]

Function = Callable[..., Any]


def _special(name: str) -> Function:
    """A function of torch or torch.special, on arrays."""
    operation = getattr(torch.special, name, None) or getattr(torch, name)

    def call(*arrays: Any) -> Any:
        return operation(*(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays)).numpy()

    return call


def _bits(array: Any) -> Any:
    return array.view(f"uint{array.itemsize * 8}")


def _popc(x: Any) -> Any:
    return np.vectorize(lambda value: int(value).bit_count(), otypes=[np.int32])(_bits(x))


def _clz(x: Any) -> Any:
    width = x.itemsize * 8
    return np.vectorize(lambda value: width - int(value).bit_length(), otypes=[np.int32])(_bits(x))


def _ffs(x: Any) -> Any:
    return np.vectorize(lambda value: (int(value) & -int(value)).bit_length(), otypes=[np.int32])(_bits(x))


def _brev(x: Any) -> Any:
    width = x.itemsize * 8
    return np.vectorize(lambda value: int(f"{int(value):0{width}b}"[::-1], 2), otypes=[_bits(x).dtype])(_bits(x)).view(
        x.dtype
    )


def _mulhi(x: Any, y: Any) -> Any:
    shift = x.itemsize * 8
    return np.vectorize(lambda a, b: (int(a) * int(b)) >> shift, otypes=[x.dtype])(x, y)


def _half_up(x: Any) -> Any:
    """C's round(): halves away from zero."""
    return np.trunc(x + np.copysign(np.nextafter(np.asarray(0.5, x.dtype), np.asarray(0, x.dtype)), x))


def _tgamma(x: Any) -> Any:
    def gamma(value: float) -> float:
        try:
            return math.gamma(value)
        except (ValueError, OverflowError):
            return math.nan if value < 0 or math.isnan(value) else math.inf

    return np.vectorize(gamma, otypes=[x.dtype])(x)


def _to_int(x: Any) -> Any:
    return np.rint(x).astype(np.int32)


_NUMPY = (
    *("fabs", "sqrt", "ceil", "floor", "rint", "trunc", "fmod", "hypot", "ldexp", "copysign", "nextafter", "cbrt"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
)
_RENAMED: dict[str, Function] = {
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "pow": np.power,
    "powi": np.power,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "max": np.maximum,
    "min": np.minimum,
    "umax": np.maximum,
    "umin": np.minimum,
    "llmax": np.maximum,
    "llmin": np.minimum,
    "abs": np.abs,
    "llabs": np.abs,
    "nearbyint": np.rint,
    "round": _half_up,
    "llrint": lambda x: np.rint(x).astype(np.int64),
    "remainder": lambda x, y: x - y * np.rint(x / y),
    "fma": lambda x, y, z: x * y + z,
    "fdim": lambda x, y: np.where(x > y, x - y, np.zeros_like(x)),
    "saturate": lambda x: np.clip(x, 0, 1),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "frcp_rn": np.reciprocal,
    "fdividef": np.divide,
    "fast_sin": np.sin,
    "fast_cos": np.cos,
    "fast_exp": np.exp,
    "fast_log": np.log,
    "fast_log2": np.log2,
    "fast_log10": np.log10,
    "fast_tan": np.tan,
    "fast_pow": np.power,
    "fast_fdivide": np.divide,
    "exp10": lambda x: np.power(np.asarray(10, x.dtype), x),
    "fast_exp10": lambda x: np.power(np.asarray(10, x.dtype), x),
    "sinpi": lambda x: np.sin(np.asarray(np.pi, x.dtype) * x),
    "cospi": lambda x: np.cos(np.asarray(np.pi, x.dtype) * x),
    "tgamma": _tgamma,
    "normcdf": _special("ndtr"),
    "normcdfinv": _special("ndtri"),
    "cyl_bessel_i0": _special("i0"),
    "cyl_bessel_i1": _special("i1"),
    "j0": _special("bessel_j0"),
    "j1": _special("bessel_j1"),
    "y0": _special("bessel_y0"),
    "y1": _special("bessel_y1"),
    "ilogb": lambda x: np.frexp(x)[1].astype(np.int32) - 1,
    "logb": lambda x: (np.frexp(x)[1] - 1).astype(x.dtype),
    "isnan": lambda x: np.isnan(x).astype(np.int32),
    "isinf": lambda x: np.isinf(x).astype(np.int32),
    "finite": lambda x: np.isfinite(x).astype(np.int32),
    "isfinited": lambda x: np.isfinite(x).astype(np.int32),
    "signbit": lambda x: np.signbit(x).astype(np.int32),
    "popc": _popc,
    "popcll": _popc,
    "clz": _clz,
    "clzll": _clz,
    "ffs": _ffs,
    "ffsll": _ffs,
    "brev": _brev,
    "brevll": _brev,
    "mulhi": _mulhi,
    "umulhi": _mulhi,
    "mul64hi": _mulhi,
    "umul64hi": _mulhi,
    "float2int_rn": _to_int,
    "float2int_rz": lambda x: np.trunc(x).astype(np.int32),
    "float_as_int": lambda x: x.view(np.int32),
    "int_as_float": lambda x: x.view(np.float32),
    "double_as_longlong": lambda x: x.view(np.int64),
    "longlong_as_double": lambda x: x.view(np.float64),
    **{
        f"{name}_{mode}": operation
        for mode in ("rn", "rz", "rd", "ru")
        for name, operation in (
            ("fadd", np.add),
            ("fmul", np.multiply),
            ("fdiv", np.divide),
            ("dadd", np.add),
            ("dmul", np.multiply),
            ("ddiv", np.divide),
            ("fsqrt", np.sqrt),
            ("dsqrt", np.sqrt),
            ("fsub", np.subtract),
        )
    },
}
_OF_TORCH = {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "erfcx": "erfcx", "lgamma": "gammaln"}
_TABLE: dict[str, Function] = {
    **{name: getattr(np, name) for name in _NUMPY},
    **_RENAMED,
    **{name: _special(torchs) for name, torchs in _OF_TORCH.items()},
}


def function(symbol: str) -> Function | None:
    """The function that a symbol such as "__nv_tanhf" names, on arrays; None where there is none."""
    name = re.sub(r"^__(nv|mt|musa|ocml)_", "", symbol)
    name = re.sub(r"_f(16|32|64)$", "", name)
    return _TABLE.get(name) or (_TABLE.get(name[:-1]) if name.endswith(("f", "d")) else None)
