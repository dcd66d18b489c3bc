"""Nested tensors: the operators that torch_musa 2.7.1 registers (musa_functions.yaml), and no others."""

# ruff: noqa: E402

from __future__ import annotations

from typing import Any

import pytest

import musasim

musasim.install()

import torch
import torch_musa  # noqa: F401

from support.interpreter import Interpreter

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore:The PyTorch API of nested")]

ROWS = [torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3)]
X, MASK = torch.arange(24.0).reshape(2, 4, 3), torch.tensor([[True, True, False, False], [True] * 4])


def nested(device: str) -> torch.Tensor:
    return torch.nested.nested_tensor(ROWS, device=device)


def test_rows_come_back() -> None:
    made = nested("musa")
    assert made.is_nested and made.device == torch.device("musa", 0)
    assert [row.tolist() for row in made.unbind()] == [row.tolist() for row in ROWS]
    assert {row.device.type for row in made.unbind()} == {"musa"}
    assert "device='musa:0'" in repr(made)


@pytest.mark.parametrize(
    "work",
    [
        lambda made: torch.nested.to_padded_tensor(made, 7.0),
        lambda made: made.values(),
        lambda made: [row.contiguous() for part in made.split_with_sizes([1, 2], -1) for row in part.unbind()],
    ],
    ids=["to_padded_tensor", "values", "split_with_sizes"],
)
def test_operators_agree_with_the_cpu(work: Any) -> None:
    torch.testing.assert_close(work(nested("musa")), work(nested("cpu")), check_device=False)


def test_made_of_padded_tensors() -> None:
    made = torch._nested_tensor_from_mask(X.musa(), MASK.musa())  # type: ignore[attr-defined]
    assert [row.tolist() for row in made.unbind()] == [X[0, :2].tolist(), X[1].tolist()]
    assert torch._nested_tensor_from_mask_left_aligned(X.musa(), MASK.musa())
    assert not torch._nested_tensor_from_mask_left_aligned(X.musa(), MASK.flip(1).musa())
    again = torch._nested_from_padded(X.musa(), torch.tensor([[2, 3], [4, 3]]))
    assert [row.tolist() for row in again.unbind()] == [row.tolist() for row in made.unbind()]


MISSING = """
import json, warnings
import musasim
musasim.install()
import torch, torch_musa

warnings.simplefilter("ignore")
made = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], device="musa")
raised = []
for work in (lambda: made + made, lambda: made.cpu(), lambda: made.softmax(-1)):
    try:
        work()
    except NotImplementedError as error:
        raised.append("'NestedTensor" in str(error))
print(json.dumps(raised))
"""


def test_other_operators_are_missing() -> None:
    """Without torchada, which gives them. 2.9.1 has them (test_later_operators.py)."""
    assert Interpreter(env={"TORCHADA_DISABLE": "1", "MUSASIM_RELEASE": "2.7.1"}).json(MISSING) == [True] * 3
