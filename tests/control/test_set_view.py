"""`torchada.set_view` calls the view that is not CUDA's by what it is, on every platform."""

from __future__ import annotations

import pytest

import torchada
from torchada.views.state import PROCESS

pytestmark = pytest.mark.once


def test_the_backends_view_has_a_name_that_is_no_vendors() -> None:
    try:
        torchada.set_view("some_package", "backend")
        assert PROCESS.chosen["some_package"] == "musa"
    finally:
        torchada.set_view("some_package", None)


def test_a_view_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="'npu'"):
        torchada.set_view("some_package", "npu")
