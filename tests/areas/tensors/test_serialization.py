"""Checkpoints: saved by CUDA code and for CUDA machines, loaded in every form that map_location has."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter

STATE = {"weight": torch.arange(4.0), "step": 3}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A checkpoint with tensors of cuda:0, cuda:1 and the CPU."""
    path = tmp_path / "cuda_model.pt"
    torch.save({"a": torch.ones(2, device="cuda"), "b": torch.ones(2, device="cuda:1"), "c": torch.ones(2)}, path)
    return path


def _devices(loaded: dict[str, torch.Tensor]) -> list[str]:
    return [str(loaded[name].device) for name in "abc"]


def test_the_file_has_cudas_tags_and_no_others(saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        pickled = archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))
    assert b"cuda:0" in pickled and b"cuda:1" in pickled
    assert b"musa" not in pickled


@pytest.mark.parametrize("location", ["cuda0", "cuda:", "cuda:x"])
def test_a_misspelt_device_is_refused_in_torchs_words(saved: Path, location: str) -> None:
    with pytest.raises(RuntimeError, match=f"Invalid device string: '{location}'"):
        torch.load(saved, location)


@pytest.mark.filterwarnings("ignore:Sparse", "ignore:TypedStorage is deprecated")
def test_save_here_read_on_another_machine(plain: Interpreter, tmp_path: Path) -> None:
    """A torch that has never heard of us or of the device reads all of it, and finds cuda's names in it."""
    model = torch.nn.Linear(2, 2).cuda()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    path = tmp_path / "all.pt"
    content = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "device": torch.device("cuda:1"),
        "cpu": torch.device("cpu"),
        "sparse": torch.eye(2, device="cuda:1").to_sparse(),
        "csr": torch.eye(2, device="cuda:1").to_sparse_csr(),
        "storage": torch.ones(2, device="cuda").untyped_storage(),
        "rng": torch.cuda.get_rng_state_all(),
    }
    torch.save(content, path)
    assert b"musa" not in path.read_bytes() and b"torchada" not in path.read_bytes()
    code = f"""
    import sys, torch
    loaded = torch.load({str(path)!r}, map_location="cpu", weights_only=True)
    assert loaded["device"] == torch.device("cuda", 1) and loaded["cpu"] == torch.device("cpu")
    assert loaded["sparse"].to_dense().tolist() == loaded["csr"].to_dense().tolist() == [[1, 0], [0, 1]]
    torch.nn.Linear(2, 2).load_state_dict(loaded["model"])
    try:
        torch.load({str(path)!r})
    except RuntimeError as error:
        assert "Attempting to deserialize object on a CUDA device" in str(error)
    else:
        raise AssertionError
    assert "torch_musa" not in sys.modules
    """
    plain.run(code, env={"TORCHADA_DISABLE": "1"}, forked=True)


@pytest.mark.filterwarnings("ignore:Sparse", "ignore:Validating sparse")
@pytest.mark.parametrize(
    ("map_location", "expected"),
    [(None, "cuda:1"), ({"cuda:1": "cuda:0"}, "cuda:0"), ({"cuda:1": "cpu"}, "cpu"), (torch.device("cpu"), "cpu")],
)
def test_sparse_tensors(map_location: Any, expected: str) -> None:
    buffer = io.BytesIO()
    torch.save([torch.eye(2, device="cuda:1").to_sparse(), torch.eye(2, device="cuda:1").to_sparse_csr()], buffer)
    buffer.seek(0)
    for loaded in torch.load(buffer, map_location=map_location):
        assert loaded.device == torch.device(expected) and loaded.to_dense().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    ("map_location", "expected"),
    [
        (None, ["musa:0", "musa:1", "cpu"]),
        ("cpu", ["cpu", "cpu", "cpu"]),
        ("cuda", ["musa:0", "musa:0", "musa:0"]),
        ("cuda:1", ["musa:1", "musa:1", "musa:1"]),
        (torch.device("cuda:1"), ["musa:1", "musa:1", "musa:1"]),
        (torch.device("cuda"), ["musa:0", "musa:0", "musa:0"]),
        ({"cuda:1": "cuda:0"}, ["musa:0", "musa:0", "cpu"]),
        ({"cuda:0": "cpu"}, ["cpu", "musa:1", "cpu"]),
        (lambda storage, location: storage, ["cpu", "cpu", "cpu"]),
        (lambda storage, location: storage.cuda(1), ["musa:1", "musa:1", "musa:1"]),
        (lambda storage, location: storage.cuda(0) if location == "cuda:1" else None, ["musa:0", "musa:0", "cpu"]),
    ],
)
def test_every_map_location(saved: Path, map_location: Any, expected: list[str], weights_only: bool) -> None:
    assert _devices(torch.load(saved, map_location=map_location, weights_only=weights_only)) == expected


def test_mmap(saved: Path) -> None:
    assert _devices(torch.load(saved, map_location="cuda", mmap=True)) == ["musa:0"] * 3
    assert _devices(torch.load(saved, mmap=True)) == ["musa:0", "musa:1", "cpu"]


def test_a_file_from_a_cuda_machine() -> None:
    # Byte for byte what a CUDA machine writes, but for the storages: the tags are all that differs from a file of the CPU.
    buffer = io.BytesIO()
    torch.save(STATE, buffer)
    source, target = zipfile.ZipFile(buffer), io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for item in source.infolist():
            data = source.read(item)
            if item.filename.endswith("data.pkl"):
                data = data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            archive.writestr(item.filename, data)
    target.seek(0)
    loaded = torch.load(target)
    assert loaded["weight"].device == torch.device("cuda:0")
    assert loaded["weight"].tolist() == [0, 1, 2, 3]


def test_the_legacy_format(tmp_path: Path) -> None:
    path = tmp_path / "legacy.pt"
    torch.save(torch.ones(2, device="cuda:1"), path, _use_new_zipfile_serialization=False)
    assert torch.load(path).device == torch.device("cuda:1")
    assert torch.load(path, map_location="cpu").device.type == "cpu"


def test_a_device_that_is_not_there(saved: Path) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)device 99.*map_location"):
        torch.load(saved, map_location="cuda:99")


def test_the_location_of_a_device_is_checked() -> None:
    """As libraries do that register a format of their own for what they save."""
    validate = torch.serialization.validate_cuda_device
    assert validate("cuda:1") == 1
    with torch.cuda.device(1):
        assert validate("cuda") == 1
    with pytest.raises(ValueError, match=r"^Expected a cuda device, but got: cpu$"):
        validate("cpu")
    with pytest.raises(RuntimeError, match=r"CUDA device 99 but torch\.cuda\.device_count\(\) is 2"):
        validate("cuda:99")


def test_a_saved_device_object(tmp_path: Path) -> None:
    torch.save({"device": torch.device("cuda:1")}, tmp_path / "device.pt")
    assert torch.load(tmp_path / "device.pt", weights_only=True)["device"] == torch.device("cuda:1")


def test_modules_and_optimizers_round_trip(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "last.pt")
    loaded = torch.load(tmp_path / "last.pt", map_location="cuda")
    again = torch.nn.Linear(2, 2).cuda()
    again.load_state_dict(loaded["model"])
    assert torch.equal(again.weight.cpu(), model.weight.cpu())
    torch.optim.Adam(again.parameters()).load_state_dict(loaded["optimizer"])


def test_a_path_with_cuda_in_it_is_left_alone(saved: Path) -> None:
    assert saved.name == "cuda_model.pt"
    assert torch.load(str(saved), map_location="cpu")["c"].tolist() == [1, 1]
