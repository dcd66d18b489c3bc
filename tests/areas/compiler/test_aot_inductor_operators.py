"""AOTInductor: the ways by which a package calls operators, each of which PyTorch has for CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("inductor_cache"),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning"),
]


@pytest.fixture
def an_operator() -> Iterator[None]:
    """An operator of the program's, which a package calls by PyTorch's dispatcher and not by a function of C."""
    library: Any = torch.library.Library("aoti_test", "DEF")
    library.define("times(Tensor x, int n) -> Tensor")
    library.impl("times", lambda x, n: x * n, "CUDA")
    torch.library.register_fake("aoti_test::times", lambda x, n: torch.empty_like(x), lib=library)
    yield
    library._destroy()


def packaged(model: torch.nn.Module, arguments: tuple[torch.Tensor, ...], folder: Path) -> Any:
    program = torch.export.export(model, arguments)
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(folder / "model.pt2"))
    return torch._inductor.aoti_load_package(path)


class Everything(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 16)
        self.attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)
        self.convolution = torch.nn.Conv2d(1, 2, 3)
        self.norm = torch.nn.BatchNorm1d(16)

    def forward(self, ids: torch.Tensor, image: torch.Tensor, more: torch.Tensor) -> tuple[torch.Tensor, ...]:
        h = self.embedding(ids)
        h = self.norm(self.attention(h, h, h, need_weights=False)[0].transpose(1, 2)).transpose(1, 2)
        h = torch.ops.aoti_test.times(h, 3)
        pooled = F.max_pool2d(self.convolution(image), 2)
        ones = torch.ones(5, device=ids.device)
        counts = torch.zeros(4, device=ids.device).index_put((ids[0] % 4,), ones, accumulate=True)
        joined = torch.cat([h.flatten(1), pooled.flatten(1)], 1).sort(1).values
        either: Any = torch.cond(more, lambda x: x + 1, lambda x: x - 1, [joined])
        return either, counts, h.topk(3).indices, joined.cumsum(1), torch.bmm(h, h.transpose(1, 2)).half()


def test_a_package_calls_operators_as_eager_code_does(an_operator: None, tmp_path: Path) -> None:
    model = Everything().cuda().eval()
    ids, image = torch.randint(0, 10, (2, 5), device="cuda"), torch.randn(2, 1, 8, 8, device="cuda")
    with torch.no_grad():
        loaded = packaged(model, (ids, image, torch.tensor(True, device="cuda")), tmp_path)
        for more in (True, False):
            arguments = (ids, image, torch.tensor(more, device="cuda"))
            for result, expected in zip(loaded(*arguments), model(*arguments), strict=True):
                torch.testing.assert_close(result, expected, rtol=2e-3, atol=2e-3)


def test_a_package_draws_from_the_devices_generator(tmp_path: Path) -> None:
    class Drawing(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return F.dropout(x, 0.5), torch.rand_like(x)

    x = torch.ones(1000, device="cuda")
    loaded = packaged(Drawing(), (x,), tmp_path)
    torch.cuda.manual_seed(1)
    first = loaded(x)
    torch.cuda.manual_seed(1)
    again, later = loaded(x), loaded(x)
    assert torch.equal(first[0], again[0]) and torch.equal(first[1], again[1])
    assert not torch.equal(again[0], later[0]) and not torch.equal(again[1], later[1])
    assert 350 < int((first[0] == 0).sum()) < 650
