"""Checkpoints: what is saved on one side is read on the other."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import torch

from torch_battery.check import expect
from torch_battery.inputs import Inputs
from torch_battery.table import Program

GROUP = "checkpoints"
_TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64)


def _model() -> torch.nn.Module:
    torch.manual_seed(9)
    return torch.nn.Sequential(
        torch.nn.Conv1d(2, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.Flatten(), torch.nn.Linear(24, 3)
    )


def _saved(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def _equal(loaded: dict[str, Any], expected: dict[str, Any], is_cuda: bool) -> None:
    expect(list(loaded) == list(expected), "the names in a checkpoint have changed")
    for name, tensor in loaded.items():
        expect(tensor.is_cuda == is_cuda, f"{name} was loaded onto {tensor.device}")
        expect(torch.equal(tensor.cpu(), expected[name].cpu()), f"{name} has changed by saving and loading")


def _device_to_cpu() -> None:
    state = _model().cuda().state_dict()
    _equal(torch.load(_saved(state), map_location="cpu", weights_only=True), state, False)


def _cpu_to_device() -> None:
    state = _model().state_dict()
    _equal(torch.load(_saved(state), map_location="cuda", weights_only=True), state, True)


def _device_to_device() -> None:
    state = _model().cuda().state_dict()
    file = _saved(state)
    expect(b"cuda:0" in file.getvalue(), "the file does not say cuda:0, so that a CUDA machine could not read it")
    _equal(torch.load(file, weights_only=True), state, True)


def _device_to_another() -> None:
    tensor = torch.load(
        _saved(torch.arange(5.0, device="cuda:0")), map_location={"cuda:0": "cuda:1"}, weights_only=True
    )
    expect(tensor.device.index == 1 and tensor.tolist() == [0, 1, 2, 3, 4], f"a tensor was mapped to {tensor.device}")


def _types() -> None:
    values = {str(dtype): Inputs(dtype, "types")(4, 5).cuda() for dtype in _TYPES}
    values["view"] = values["torch.float32"][1:, ::2]
    _equal(torch.load(_saved(values), map_location="cpu", weights_only=True), values, False)
    shared = torch.zeros(4, device="cuda")
    one, other = torch.load(_saved([shared, shared[1:]]), weights_only=True)
    one[1] = 7
    expect(other[0].item() == 7, "two tensors that shared memory do not when they are loaded")


def _optimizer() -> None:
    own = _model().cuda()
    optimizer = torch.optim.AdamW(own.parameters(), lr=0.01)
    own(torch.ones(2, 2, 8, device="cuda")).sum().backward()
    optimizer.step()
    host = _model()
    again = torch.optim.AdamW(host.parameters(), lr=0.5)
    again.load_state_dict(torch.load(_saved(optimizer.state_dict()), map_location="cpu", weights_only=True))
    for first, second in zip(optimizer.state.values(), again.state.values()):
        expect(not second["exp_avg"].is_cuda, "the state of an optimizer for the CPU was loaded onto the device")
        expect(torch.equal(first["exp_avg"].cpu(), second["exp_avg"]), "the state of an optimizer has changed")


def _outputs() -> None:
    """A model that is saved on the device gives the same answers on the CPU."""
    own = _model().cuda().eval()
    host = _model().eval()
    with torch.no_grad():
        for weight in own.parameters():
            weight.mul_(1.5)
    host.load_state_dict(torch.load(_saved(own.state_dict()), map_location="cpu", weights_only=True))
    x = Inputs(torch.float32, "outputs")(3, 2, 8)
    close = torch.allclose(own(x.cuda()).cpu(), host(x), rtol=1e-3, atol=1e-3)
    expect(close, "a model gives other answers after it was saved on the device and loaded on the CPU")


def _file() -> None:
    state = _model().cuda().state_dict()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt"
        torch.save(state, path)
        _equal(torch.load(path, map_location="cpu", mmap=True, weights_only=True), state, False)
        _equal(torch.load(path, map_location="cuda", mmap=True, weights_only=True), state, True)


def _random_state() -> None:
    state = torch.load(_saved(torch.cuda.get_rng_state()), weights_only=True)
    first = torch.rand(9, device="cuda")
    torch.cuda.set_rng_state(state)
    expect(torch.equal(torch.rand(9, device="cuda"), first), "a saved random state does not repeat the numbers")


TABLE = [
    Program("device_to_cpu", _device_to_cpu, "quick"),
    Program("cpu_to_device", _cpu_to_device, "quick"),
    Program("device_to_device", _device_to_device),
    Program("device_to_another", _device_to_another, devices=2),
    Program("types", _types),
    Program("optimizer", _optimizer),
    Program("outputs", _outputs),
    Program("file", _file),
    Program("random_state", _random_state),
]
