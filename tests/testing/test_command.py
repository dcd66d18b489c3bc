"""`python -m torchada.testing`: a backend that there is not is answered with those that there are."""

from __future__ import annotations

import pytest

from torchada.testing.__main__ import main

pytestmark = pytest.mark.once


def test_the_backends_are_listed_where_a_name_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nosuch"]) == 2
    said = capsys.readouterr().err
    assert "there is no backend 'nosuch'; expected musa, npu, mlu, host, xpu, mps" in said
