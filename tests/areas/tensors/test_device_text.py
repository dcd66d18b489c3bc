"""A string of a class of its own names the device that its text names, whatever the class says it equals."""

from __future__ import annotations

import pytest
import torch


class Sly(str):
    """Equals everything, and is found in the place of "cuda:0"."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash("cuda:0")

    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.musa
@pytest.mark.parametrize("name", ["cpu", "cuda:0", "cuda:1"])
def test_the_text_counts(name: str) -> None:
    assert torch.device(Sly(name)) == torch.device(name)
    assert torch.zeros(1, device=Sly(name)).device == torch.device(name)
    assert torch.ones(1).to(Sly(name)).device == torch.device(name)
    assert torch.Generator(Sly(name)).device == torch.device(name)


@pytest.mark.musa
def test_an_index_is_taken_as_torch_takes_it() -> None:
    assert torch.zeros(1, device="cuda:256").device == torch.device("cuda", 0) == torch.device("cuda:512")
    assert torch.ones(1).to("cuda:256").is_cuda
    assert torch.device("cuda:128") == torch.device("musa:128") != torch.device("cuda:0")
    assert torch.device("cuda", 200) == torch.device("musa", 200)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(1, device="cuda:200")
    with pytest.raises(RuntimeError, match="Invalid device string: 'cuda:0256'"):
        torch.zeros(1, device="cuda:0256")
