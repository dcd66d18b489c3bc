"""accelerate: a training loop in two precisions, its state saved and loaded, a model spread over devices."""

from __future__ import annotations

from typing import Any

from support.library_ways import on_the_host_too

NEEDS = ("accelerate",)


@on_the_host_too
def test_loop(agrees: Any) -> None:
    found = agrees("accelerate_loop.py")
    assert all(found["same"].values())
    assert found["split"] == ["cuda:0", "cuda:1"]  # as the program sees them
