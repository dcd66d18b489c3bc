"""On a machine with an NVIDIA GPU: torch.cuda works on it, and is in every respect what it is without torchada."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.cuda

TRAIN = """
import torch
model = torch.nn.Linear(8, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for _ in range(3):
    with torch.autocast("cuda"):
        loss = model(torch.randn(4, 8, device="cuda")).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print(torch.cuda.is_available(), loss.device, torch.zeros(1, device=torch.device("cuda", 0)).is_cuda)
"""

# Every name of what we would change elsewhere, with a description of its value.
IDENTITIES = """
import json, sys, torch
def kinds(owner):
    return sorted([name, type(v).__name__, str(getattr(type(v), "__module__", "")), str(getattr(v, "__module__", ""))]
                  for name, v in vars(owner).items() if not name.startswith("__"))
owners = [torch.cuda, torch.Tensor, torch.device, torch.nn.Module, torch.autocast, torch.amp.GradScaler, torch.random]
ours = sorted(name for name in sys.modules if name.partition(".")[0] in ("torchada", "musasim", "torch_musa", "wrapt"))
print(json.dumps({"kinds": [kinds(owner) for owner in owners], "ours": ours, "finders": [type(f).__name__ for f in sys.meta_path]}))
"""


def test_training_on_the_gpu(plain: Interpreter) -> None:
    assert plain.run(TRAIN).stdout.split() == ["True", "cuda:0", "True"]


def test_every_name_is_what_it_is_without_torchada(plain: Interpreter) -> None:
    with_hook = plain.json(IDENTITIES)
    without = plain.json(IDENTITIES, env={"TORCHADA_DISABLE": "1"})
    assert with_hook["kinds"] == without["kinds"]
    assert [name for name in with_hook["ours"] if not name.startswith("torchada")] == []


def test_the_finder_watches_nothing_any_more(plain: Interpreter) -> None:
    plain.run("import torch, _torchada_startup as startup; assert not startup.FINDER.watched, startup.FINDER.watched")


def test_hot_calls_are_torchs_own(plain: Interpreter) -> None:
    plain.run(
        """
        import torch
        assert type(torch.zeros).__name__ == "builtin_function_or_method"
        assert "is_cuda" not in vars(torch.Tensor) and "cuda" not in vars(torch.Tensor)
        assert torch.cuda.device_count.__module__ == "torch.cuda"
        import torchada
        assert not torchada.is_patched() and torchada.is_cuda_platform()
        """
    )
