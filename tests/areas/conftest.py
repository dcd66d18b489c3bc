"""Everything here runs in the redirected process of pytest itself, and leaves default device and dtype as it found them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import torchada


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "areas" in item.path.parts:
            item.add_marker(pytest.mark.musa)


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    dtype = torch.get_default_dtype()
    current = torch.cuda.current_device()
    yield
    torch.set_default_device(None)
    torch.set_default_dtype(dtype)
    torch.cuda.set_device(current)


@pytest.fixture
def of_cuda(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the tests of a module see CUDA; the package that they belong to knows MUSA."""
    package = request.module.__name__.partition(".")[0]
    torchada.set_view(package, "cuda")
    yield
    torchada.set_view(package, None)
