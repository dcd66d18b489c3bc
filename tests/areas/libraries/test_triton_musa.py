"""The variables for Moore Threads' Triton: the default precision of tl.dot, and which arguments of a kernel are one pointer."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from torchada.base.settings import Settings
from torchada.redirect.engine import Skip

pytest.importorskip("triton", reason="Triton is not installed")
pytestmark = pytest.mark.once
QUICK = True
# Triton 3.3 has no knobs, and reads the variable.
PRECISION = """
import os, triton
variable = os.environ.get("TRITON_F32_DEFAULT")
knobs = getattr(triton, "knobs", None)
print(knobs.language.fp32_default if knobs else variable, variable)
"""


@pytest.mark.parametrize(
    ("env", "precision"),
    [
        ({"TORCHADA_TRITON_F32_DEFAULT": "IEEE"}, "ieee"),
        ({"TORCHADA_TRITON_F32_DEFAULT": "ieee", "TRITON_F32_DEFAULT": "tf32"}, "tf32"),
    ],
)
def test_the_default_precision_reaches_triton(musa: Any, env: dict[str, str], precision: str) -> None:
    told = musa.run(f"import torch\n{PRECISION}", env=env, forked=True).stdout.split()
    assert told == [precision, precision]


def test_a_precision_that_triton_refuses_is_named(musa: Any) -> None:
    done = musa.run("import torch, triton", env={"TORCHADA_TRITON_F32_DEFAULT": "fp8"}, forked=True, check=False)
    assert "TORCHADA_TRITON_F32_DEFAULT=fp8 is ignored: Triton's backend takes " in done.stderr


def _vendors(params: Sequence[Any], bound_vals: Sequence[Any]) -> str:
    """As MUSA Triton 3.6 has it: every parameter that is no tl.constexpr is counted."""
    places: dict[int, list[int]] = {}
    for position, (param, value) in enumerate(zip(params, bound_vals)):
        if not param.is_constexpr and hasattr(value, "data_ptr"):
            places.setdefault(value.data_ptr(), []).append(position)
    return ",".join(f"{one}:{other}" for one, other in (pair for pair in places.values() if len(pair) == 2))


def _spec(monkeypatch: pytest.MonkeyPatch, helper: Any, wanted: str) -> Any:
    """What replaces `helper` in a Triton that has it."""
    from torchada.areas.libraries import triton_musa

    monkeypatch.setattr(import_module("triton.runtime.jit"), "_make_pointer_alias_spec", helper, raising=False)
    context: Any = SimpleNamespace(settings=Settings(triton_inplace_alias=wanted))
    (patch,) = triton_musa.inplace_alias(context)
    return patch.replacement


class _Pointer:
    dtype = "float32"

    def data_ptr(self) -> int:
        return 64


def _launch(*values: Any) -> tuple[list[Any], list[Any]]:
    plain = {"is_constexpr": False, "annotation_type": "", "do_not_specialize": False}
    return [SimpleNamespace(**plain) for _ in values], list(values)


@pytest.mark.parametrize(
    ("values", "pairs"),
    [
        ((None, _Pointer(), _Pointer()), "0:1"),
        ((_Pointer(), 1, 2, _Pointer()), "0:2"),
        ((_Pointer(), True, 1.0, _Pointer()), "0:3"),
        ((_Pointer(), (1, 2), _Pointer()), ""),
        ((_Pointer(), 3), ""),
    ],
)
def test_equal_pointers_are_counted_among_arguments(
    monkeypatch: pytest.MonkeyPatch, values: tuple[Any, ...], pairs: str
) -> None:
    assert _spec(monkeypatch, _vendors, "fix")(*_launch(*values)) == pairs


def test_off_tells_of_no_equal_pointers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _spec(monkeypatch, _vendors, "off")(*_launch(_Pointer(), _Pointer())) == ""


def test_vendor_and_a_triton_that_counts_otherwise_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Skip, match="=vendor"):
        _spec(monkeypatch, _vendors, "vendor")
    with pytest.raises(Skip, match="does not count"):
        _spec(monkeypatch, lambda params, bound_vals: "0:1", "fix")


def test_the_variables_draw_no_warning(musa: Any) -> None:
    env = {
        "TORCHADA_TRITON_INPLACE_ALIAS": "off",
        "TORCHADA_TRITON_FAST_EXP": "1",
        "TORCHADA_TRITON_F32_DEFAULT": "ieee",
    }
    assert musa.run("import torch; torch.cuda.device_count()", env=env, forked=True).stderr == ""
