"""cross_entropy under autocast: in single precision, as on CUDA, where torch_musa's PyTorch returns the type of the logits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

LOGITS = torch.linspace(-2, 2, 24).reshape(4, 6)
LABELS = torch.tensor([0, 5, 2, 1])
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "sum": {"reduction": "sum"},
    "none": {"reduction": "none"},
    "weights": {"weight": torch.linspace(0.5, 1.5, 6)},
    "ignored": {"ignore_index": 5},
    "smooth": {"label_smoothing": 0.1},
}


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_in_single_precision(name: str, half: torch.dtype) -> None:
    logits = LOGITS.to(half)
    options = {key: each.cuda() if isinstance(each, torch.Tensor) else each for key, each in CASES[name].items()}
    there = logits.cuda().requires_grad_()
    with torch.autocast("cuda", half):
        found = F.cross_entropy(there, LABELS.cuda(), **options)
    assert found.dtype == torch.float32
    here = logits.float().requires_grad_()
    wanted = F.cross_entropy(here, LABELS, **CASES[name])
    torch.testing.assert_close(found.cpu(), wanted)
    found.sum().backward()
    wanted.sum().backward()
    assert there.grad is not None and here.grad is not None and there.grad.dtype == half
    torch.testing.assert_close(there.grad.cpu(), here.grad.to(half))


def test_probabilities_and_images() -> None:
    with torch.autocast("cuda", torch.bfloat16):
        given = LOGITS.bfloat16().cuda()
        by_probability = F.cross_entropy(given, LOGITS.softmax(1).bfloat16().cuda())
        of_image = F.cross_entropy(given.t()[None], torch.zeros(1, 4, dtype=torch.int64, device="cuda"))
    assert by_probability.dtype == of_image.dtype == torch.float32
    torch.testing.assert_close(
        by_probability.cpu(), F.cross_entropy(LOGITS.bfloat16().float(), LOGITS.softmax(1).bfloat16().float())
    )


def test_without_autocast_it_is_in_the_logits_type() -> None:
    assert F.cross_entropy(LOGITS.bfloat16().cuda(), LABELS.cuda()).dtype == torch.bfloat16


def test_compiled_code() -> None:
    def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            return F.cross_entropy(logits, labels)

    given = LOGITS.bfloat16().cuda(), LABELS.cuda()
    found = torch.compile(loss, backend="aot_eager", fullgraph=True)(*given)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, loss(*given))
