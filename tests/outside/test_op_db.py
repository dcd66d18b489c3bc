"""How results are judged that the CPU computes in halves, and CUDA in float32."""

from __future__ import annotations

import pytest
import torch

from support import ops_gate

X = torch.linspace(0.1, 3, 60, dtype=torch.bfloat16).reshape(4, 15)


class Planted:
    """The CPU's function, which is asked twice, then the device's, then that of float32."""

    name = "planted"

    def __init__(self, *functions):
        self.functions = list(functions)

    def __call__(self, x):
        return self.functions.pop(0)(x)


def by_steps(x):
    """In halves, with a rounding at each step."""
    total = x[:, 0].clone()
    for column in range(1, x.shape[1]):
        total = total + x[:, column]
    return total


def once(x):
    return x.float().sum(1).to(x.dtype)


def judge(on_the_device, gradients=False):
    sample = (X.clone().requires_grad_(gradients), (), {}, lambda result: result)
    op = Planted(by_steps, by_steps, on_the_device, by_steps)
    return ops_gate.check(op, sample, 0, gradients, "cpu")


def test_a_result_that_is_rounded_once_is_right_where_the_cpu_rounds_at_each_step():
    assert not torch.equal(once(X), by_steps(X))
    assert judge(once)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: once(x) * 1.05,
        lambda x: once(x) + torch.tensor([0, 0, 0, 0.5], dtype=x.dtype),
        lambda x: once(x).masked_fill(torch.tensor([True, False, False, False]), float("nan")),
        lambda x: once(x).flip(0),
        lambda x: once(x).float(),
        lambda x: once(x)[:3],
    ],
    ids=["scaled", "one element", "NaN", "swapped", "another type", "another shape"],
)
def test_a_wrong_result_is_still_found(wrong):
    with pytest.raises(ops_gate.Mismatch):
        judge(wrong)


def test_gradients_are_judged_likewise():
    assert judge(once, gradients=True)
    with pytest.raises(ops_gate.Mismatch):
        judge(lambda x: once(x) * 1.05, gradients=True)


def test_float32_stays_as_strict_as_it_was():
    x = X.float()
    op = Planted(by_steps, by_steps, lambda x: by_steps(x) * 1.0001)
    with pytest.raises(ops_gate.Mismatch):
        ops_gate.check(op, (x, (), {}, None), 0, False, "cpu")
