"""safetensors, which asks torch for the device by name, unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

safetensors: Any = pytest.importorskip("safetensors", reason="safetensors is not installed")
st: Any = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    st.save_file({"a": torch.arange(4.0, device="cuda:1"), "b": torch.ones(2, 2)}, path)
    return path


@pytest.mark.parametrize(("device", "index"), [("cuda", 0), ("cuda:1", 1), (1, 1)])
def test_safetensors_device(saved: Path, device: Any, index: int) -> None:
    loaded = st.load_file(saved, device=device)
    assert {tensor.device for tensor in loaded.values()} == {torch.device("cuda", index)}
    assert loaded["a"].tolist() == [0, 1, 2, 3]
    with safetensors.safe_open(saved, framework="pt", device=device) as file:
        part = file.get_slice("a")[1:3]
        assert file.get_tensor("b").device == part.device == torch.device("cuda", index)
        assert part.tolist() == [1, 2]


def test_models(tmp_path: Path) -> None:
    path = str(tmp_path / "net.safetensors")
    net, again = torch.nn.Linear(2, 2).cuda(), torch.nn.Linear(2, 2).cuda()
    st.save_model(net, path)
    assert st.load_model(again, path, device="cuda") == (set(), [])
    assert torch.equal(net.weight, again.weight) and again.weight.is_cuda


def test_the_file_names_no_device(saved: Path) -> None:
    assert b"musa" not in saved.read_bytes() and st.load_file(saved)["a"].device.type == "cpu"
