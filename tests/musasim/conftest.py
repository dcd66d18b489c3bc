"""The simulation, for tests in this folder that run in the test process itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.ranks import Ranks


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """torch_musa names the device when it pins memory, and PyTorch warns of that once in a process, in whichever test is first."""
    ignore = pytest.mark.filterwarnings("ignore:The argument 'device' of Tensor:DeprecationWarning")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(ignore)


@pytest.fixture(scope="session")
def torch_musa() -> Any:
    """torch_musa as a program imports it, with initialised devices."""
    import musasim

    musasim.install()
    import torch
    import torch_musa

    torch.zeros(1, device="musa")
    return torch_musa


@pytest.fixture(autouse=True)
def new_capture_stream(request: pytest.FixtureRequest) -> None:
    """A pool hands out 32 streams in turn: one that an early test made for captures would come again in a later test."""
    if "torch_musa" in request.fixturenames:
        request.getfixturevalue("torch_musa").graph.default_capture_stream = None


@pytest.fixture(scope="module")
def two() -> Iterator[Ranks]:
    """Two processes of a group, with one device each."""
    from support.ranks import Ranks

    ranks = Ranks(2)
    yield ranks
    ranks.stop()
