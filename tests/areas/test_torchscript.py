"""torch.jit.script and load, as far as they are Python: what TorchScript's own parser sees is shown in tests/test_native.py."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated")


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_scripted_classes_see_what_surrounds_them() -> None:
    """TorchScript looks for names in the frame of its caller; a function around torch.jit.script would be that frame."""

    @torch.jit.script
    def increased(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @torch.jit.script
    class Pair:
        def __init__(self, x: torch.Tensor) -> None:
            self.x = x

        def both(self) -> torch.Tensor:
            return doubled(increased(self.x))

    @torch.jit.script
    def use(x: torch.Tensor) -> torch.Tensor:
        return Pair(x).both()

    assert use(torch.ones(2, device="cuda")).tolist() == [4, 4]


@pytest.mark.parametrize(
    ("map_location", "expected"),
    [
        ("cuda", "musa:0"),
        ("cuda:1", "musa:1"),
        (torch.device("cuda:1"), "musa:1"),
        ("cpu", "cpu"),
        (None, "cpu"),
    ],
)
def test_jit_load_with_map_location(map_location: Any, expected: str) -> None:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), buffer)
    buffer.seek(0)
    loaded = torch.jit.load(buffer, map_location=map_location)
    assert {str(parameter.device) for parameter in loaded.parameters()} == {expected}
    assert loaded(torch.ones(1, 2).to(map_location or "cpu")).shape == (1, 2)


def test_a_traced_module_of_the_device_is_saved_and_loaded() -> None:
    traced = torch.jit.trace(torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda"))
    for map_location, expected in ((None, "musa:0"), ("cpu", "cpu"), ("cuda:1", "musa:1")):
        buffer = io.BytesIO()
        torch.jit.save(traced, buffer)
        buffer.seek(0)
        (device,) = {str(p.device) for p in torch.jit.load(buffer, map_location=map_location).parameters()}
        assert device == expected
